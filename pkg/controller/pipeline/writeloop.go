// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// EventRepeatInterval is the least time between two events that say the same about an object.
const EventRepeatInterval = 5 * time.Minute

// WriteLoop is an object that is written again and again.
type WriteLoop struct {
	// Parent is the parent whose syncs write the object.
	Parent object.Key
	// Object is a child or, if OfParent is true, the parent itself. OfStatus is true if
	// it is the parent's status.
	Object             object.Key
	OfParent, OfStatus bool
	// Op is what is done to the object, and Expires is true if it is created with a ttlSecondsAfterFinished.
	Op      Op
	Expires bool
	// OfNames is true if children of the kind are created under ever new names, and those before deleted.
	OfNames bool
	// Path is the field in which the object differed last from what the hook wants. It is
	// empty if the object was missing.
	Path string
	// Has and Wants are the values of that field, as JSON, which the object has and which the hook
	// wants; empty if they are not both numbers or booleans.
	Has, Wants string
	// AnswerChanges is true if the hook wants something else each time. Otherwise the hook
	// wants the same, and another writer undoes it.
	AnswerChanges bool
	// Rivals are other controllers of this process that write the same part of the object
	// again and again, as messages name them.
	Rivals []string
	// Writes is the number of writes in quick succession.
	Writes int
	// Next is the time of the next write that Writes does not count yet.
	Next time.Time
}
