// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Response is a hook's answer.
type Response struct {
	// Status is the JSON object the parent's status shall be; nil where the answer
	// has none or null.
	Status []byte
	// Labels and Annotations are those of the parent that change, with their new values;
	// nil takes one away. Only decorators' hooks answer them.
	Labels, Annotations map[string]*string
	// Children are the desired children in the order of the answer.
	Children []*object.Object
	// ResyncAfter asks for one more sync after this time; zero asks for none.
	ResyncAfter time.Duration
	// Finalized tells that a finalize hook has nothing left to do.
	Finalized bool
	// Strict tells that a child that is listed twice makes the answer an error. Else the
	// last one counts.
	Strict bool
	// Hash is that of the answer's bytes.
	Hash uint64
	// IsNoOp tells that the answer is the snapshot's Rest. Nothing else was read of it but what Rest
	// holds.
	IsNoOp bool
}

// NoOp is an answer that leaves nothing to write.
type NoOp struct {
	// Answer is the answer's hash.
	Answer uint64
	// ResyncAfter is the response's.
	ResyncAfter time.Duration
}
