// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
)

// JSON is the object without metadata.managedFields. Of a compressed object it is made anew by each call. Nobody may change it.
func (o *Object) JSON() []byte {
	if o.size == 0 {
		return o.json
	}
	return o.AppendJSON(make([]byte, 0, o.size))
}

// AppendJSON appends what JSON returns.
func (o *Object) AppendJSON(to []byte) []byte {
	if o.size == 0 {
		return append(to, o.json...)
	}
	to = slices.Grow(to, int(o.size))
	end := len(to) + int(o.size)
	// It writes to where it is told to, which has room for it.
	if _, err := s2.Decode(to[len(to):end], o.json); err != nil {
		panic(fmt.Sprintf("what was compressed of %s cannot be decompressed: %v", o, err))
	}
	return to[:end]
}

// Size is the length of the JSON in bytes.
func (o *Object) Size() int {
	if o.size == 0 {
		return len(o.json)
	}
	return int(o.size)
}
