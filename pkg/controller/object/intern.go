// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// internCache are values that were read of late, by the JSON they were read from. What comes in
// takes the place of something else, so that it does not grow. It is safe for concurrent use.
type internCache[T any] struct {
	entries [1024]atomic.Pointer[internEntry[T]]
}

// internEntry is a value and its JSON.
type internEntry[T any] struct {
	raw   string
	value T
}

// maxInterned is how many bytes of JSON something may have that is likely to come again.
const maxInterned = 1024

// get returns the value of some JSON and whether it is known.
func (r *internCache[T]) get(raw []byte) (value T, known bool) {
	if found := r.slot(raw).Load(); found != nil && found.raw == string(raw) {
		return found.value, true
	}
	return value, false
}

func (r *internCache[T]) put(raw []byte, value T) {
	if len(raw) <= maxInterned {
		r.slot(raw).Store(&internEntry[T]{string(raw), value})
	}
}

func (r *internCache[T]) slot(raw []byte) *atomic.Pointer[internEntry[T]] {
	return &r.entries[xxhash.Sum64(raw)%uint64(len(r.entries))]
}
