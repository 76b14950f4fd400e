// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reader reads the objects that a host sends. What many of them have alike, those that are
// read soon after one another share: their labels, their owners, and the names of types and
// namespaces. It is safe for concurrent use.
type Reader struct {
	applier   string
	interned  interned
	parsers   sync.Pool // of *parser
	scratches sync.Pool // of *[]byte, where objects are compressed
}

// interned is what has been read of objects before; the zero value knows nothing and learns nothing.
type interned struct {
	names  *internCache[string]
	labels *internCache[map[string]string]
	owners *internCache[[]metav1.OwnerReference]
}

// NewReader makes a reader of objects that show what applier owns by server-side apply.
func NewReader(applier string) *Reader {
	return &Reader{applier: applier, interned: interned{&internCache[string]{}, &internCache[map[string]string]{}, &internCache[[]metav1.OwnerReference]{}}}
}

// Parse is the function Parse, but for what the objects share.
func (r *Reader) Parse(raw []byte) (*Object, error) { return r.parse(raw, nil) }

// Take is Parse without a copy: raw belongs to the object from then on, and is written over where managedFields go.
// Of one that is to stay for long see Keep.
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

// intern reads the next value, unless it is known.
func intern[T any](s *scanner, known *internCache[T], read func(*scanner) (T, error)) (value T, err error) {
	if known == nil {
		return read(s)
	}
	raw, err := s.value()
	if err != nil {
		return value, err
	}
	if value, there := known.get(raw); there {
		return value, nil
	}
	if value, err = read(newScanner(raw)); err == nil {
		known.put(raw, value)
	}
	return value, err
}
