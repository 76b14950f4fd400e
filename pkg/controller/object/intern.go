// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// recent are values that were read of late, by the JSON they were read from. What comes in
// takes the place of something else, so that it does not grow. It is safe for concurrent use.
type recent[T any] struct {
	read [1024]atomic.Pointer[reading[T]]
}

// reading is a value and its JSON.
type reading[T any] struct {
	raw   string
	value T
}

// worthKeeping is how many bytes of JSON something may have that is likely to come again.
const worthKeeping = 1024

// get returns the value of some JSON and whether it is known.
func (r *recent[T]) get(raw []byte) (value T, known bool) {
	if found := r.place(raw).Load(); found != nil && found.raw == string(raw) {
		return found.value, true
	}
	return value, false
}

func (r *recent[T]) put(raw []byte, value T) {
	if len(raw) <= worthKeeping {
		r.place(raw).Store(&reading[T]{string(raw), value})
	}
}

func (r *recent[T]) place(raw []byte) *atomic.Pointer[reading[T]] {
	return &r.read[xxhash.Sum64(raw)%uint64(len(r.read))]
}
