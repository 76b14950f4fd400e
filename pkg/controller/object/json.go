// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/s2"
)

// compressedFrom is the size in bytes from which Compress compresses.
const compressedFrom = 2 << 10

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

// Compress makes the object take less memory, if it is large and a child of dynamic apply: that is there twice, as it is and as
// it was applied last, so that half of it goes. It is for what is kept, before others know the object. Other objects are
// read more often than they are worth compressing: parents several times a sync.
func (o *Object) Compress() {
	const worth = 8 // an eighth must be gained
	if o.size > 0 || !o.recorded || len(o.json) < compressedFrom || len(o.json) > math.MaxInt32 {
		return
	}
	compressed := s2.Encode(nil, o.json)
	if len(compressed) > len(o.json)-len(o.json)/worth {
		return
	}
	o.json, o.size = slices.Clone(compressed), int32(len(o.json))
}
