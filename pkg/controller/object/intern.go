// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// interned are the values that objects share with objects that were read before. The zero value
// shares nothing.
type interned struct {
	names      *internCache[string]
	labels     *internCache[map[string]string]
	references *internCache[[]metav1.OwnerReference]
	owners     *internCache[string]
}

// maxInterned is the size in bytes up to which the JSON of a value is likely to come again. Children
// of one kind have the same owners of fields, which take more bytes than other values.
const maxInterned, maxInternedOwners = 1 << 10, 4 << 10

func newInterned() interned {
	return interned{
		names:      &internCache[string]{max: maxInterned},
		labels:     &internCache[map[string]string]{max: maxInterned},
		references: &internCache[[]metav1.OwnerReference]{max: maxInterned},
		owners:     &internCache[string]{max: maxInternedOwners},
	}
}

// intern reads the next value. It returns the value from the cache if the same JSON was read before.
func intern[T any](s *scanner, cache *internCache[T], read func(*scanner) (T, error)) (value T, err error) {
	if cache == nil {
		return read(s)
	}
	raw, err := s.value()
	if err != nil {
		return value, err
	}
	if value, there := cache.get(raw); there {
		return value, nil
	}
	if value, err = read(newScanner(raw)); err == nil {
		cache.put(raw, value)
	}
	return value, err
}

// internText returns a text as a string. It returns the string from the cache if the same text came
// before.
func internText(cache *internCache[string], text []byte) string {
	if cache == nil {
		return string(text)
	}
	if known, there := cache.get(text); there {
		return known
	}
	read := string(text)
	if len(text) <= cache.max {
		cache.slot(text).Store(&internEntry[string]{read, read})
	}
	return read
}

// internCache holds values that were read recently, by the JSON they were read from. Its size is
// fixed: a new value replaces another one. It is safe for concurrent use.
type internCache[T any] struct {
	entries [1024]atomic.Pointer[internEntry[T]]
	// max is the size in bytes up to which the JSON of a value is kept.
	max int
}

// internEntry is a value and its JSON.
type internEntry[T any] struct {
	raw   string
	value T
}

// get returns the value that was read from some JSON, and whether it is known.
func (c *internCache[T]) get(raw []byte) (value T, known bool) {
	if found := c.slot(raw).Load(); found != nil && found.raw == string(raw) {
		return found.value, true
	}
	return value, false
}

func (c *internCache[T]) put(raw []byte, value T) {
	if len(raw) <= c.max {
		c.slot(raw).Store(&internEntry[T]{string(raw), value})
	}
}

func (c *internCache[T]) slot(raw []byte) *atomic.Pointer[internEntry[T]] {
	return &c.entries[xxhash.Sum64(raw)%uint64(len(c.entries))]
}
