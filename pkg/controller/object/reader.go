// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/s2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reader reads the objects that a host sends. Objects that are read soon after one another share
// their equal parts: labels, owners, and the names of types and namespaces. It is safe for
// concurrent use.
type Reader struct {
	applier   string
	interned  interned
	parsers   sync.Pool // of *parser
	scratches sync.Pool // of *[]byte, where objects are compressed
}

// NewReader returns a reader. The Applied of its objects has the fields that applier owns by server-side apply.
func NewReader(applier string) *Reader { return &Reader{applier: applier, interned: newInterned()} }

// Parse is like the function Parse, but the objects share their equal parts.
func (r *Reader) Parse(raw []byte) (*Object, error) { return r.parse(raw, nil) }

// Take is Parse without a copy: raw belongs to the object from then on, and is overwritten if managedFields are
// cut out. Keep prepares the object for a long life.
func (r *Reader) Take(raw []byte) (*Object, error) { return r.parse(raw, raw) }

func (r *Reader) parse(raw, to []byte) (*Object, error) {
	p, _ := r.parsers.Get().(*parser)
	if p == nil {
		p = &parser{}
	}
	defer r.parsers.Put(p)
	defer p.forget()
	p.applier, p.interned = r.applier, r.interned
	return p.parse(raw, to)
}

// compressionThreshold is the size in bytes from which Keep compresses.
const compressionThreshold = 2 << 10

// Keep prepares an object for a long life: it gets its own bytes, which take no more memory than they need.
// Nothing else may use the object yet.
//
// Keep compresses a large child of dynamic apply, because its JSON has the content twice, as it is and as it was last
// applied. Other objects are read too often: parents several times in each sync.
func (r *Reader) Keep(o *Object) {
	if o.size > 0 {
		return
	}
	if !o.hasLastApplied || len(o.json) < compressionThreshold || len(o.json) > math.MaxInt32 {
		o.json = slices.Clone(o.json)
		return
	}
	const worth = 8 // compression must save an eighth
	scratch, _ := r.scratches.Get().(*[]byte)
	if scratch == nil {
		scratch = new([]byte)
	}
	defer r.scratches.Put(scratch)
	*scratch = slices.Grow((*scratch)[:0], s2.MaxEncodedLen(len(o.json)))
	compressed := s2.Encode(*scratch, o.json)
	if len(compressed) > len(o.json)-len(o.json)/worth {
		o.json = slices.Clone(o.json)
		return
	}
	o.json, o.size = slices.Clone(compressed), int32(len(o.json))
}

// JSON returns the object without metadata.managedFields. Each call decompresses a compressed object again. The
// caller must not change the result.
func (o *Object) JSON() []byte {
	if o.size == 0 {
		return o.json
	}
	return o.AppendJSON(make([]byte, 0, o.size))
}

// AppendJSON appends the result of JSON.
func (o *Object) AppendJSON(to []byte) []byte {
	if o.size == 0 {
		return append(to, o.json...)
	}
	to = slices.Grow(to, int(o.size))
	end := len(to) + int(o.size)
	// Decode writes into the slice that it is given, which is large enough.
	if _, err := s2.Decode(to[len(to):end], o.json); err != nil {
		panic(fmt.Sprintf("the compressed part of %s cannot be decompressed: %v", o, err))
	}
	return to[:end]
}

// Size returns the length of the JSON in bytes.
func (o *Object) Size() int {
	if o.size == 0 {
		return len(o.json)
	}
	return int(o.size)
}

// interned has the values that objects share with objects that were read before. The zero value shares nothing.
type interned struct {
	names      *internCache[string]
	labels     *internCache[map[string]string]
	references *internCache[[]metav1.OwnerReference]
	owners     *internCache[string]
}

// maxInterned is the size in bytes up to which the JSON of a value is likely to occur again. Children of one
// kind have the same owners of fields, which take more bytes than other values.
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

// internText returns a text as a string. It returns the string from the cache if the same text was read before.
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

// internCache has recently read values by their JSON. Its size is fixed: a new value replaces another one. It
// is safe for concurrent use.
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

// get returns the value of some JSON, and whether it is known.
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
