// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import "sync"

// Reader reads the objects that a host sends. Objects that are read soon after one another share
// their equal parts: labels, owners, and the names of types and namespaces. It is safe for
// concurrent use.
type Reader struct {
	applier   string
	interned  interned
	parsers   sync.Pool // of *parser
	scratches sync.Pool // of *[]byte, where objects are compressed
}

// NewReader returns a reader. Its objects show what applier owns by server-side apply.
func NewReader(applier string) *Reader { return &Reader{applier: applier, interned: newInterned()} }

// Parse is like the function Parse, but the objects share their equal parts.
func (r *Reader) Parse(raw []byte) (*Object, error) { return r.parse(raw, nil) }

// Take is Parse without a copy: raw belongs to the object from then on, and is overwritten if
// managedFields are cut out. See Keep for an object that lives long.
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
