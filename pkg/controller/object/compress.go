// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/s2"
)

// compressionThreshold is the size in bytes from which Keep compresses.
const compressionThreshold = 2 << 10

// Keep prepares an object for a long life: its bytes become its own, and take no more memory than
// they need. The caller must be the only one who knows the object.
//
// Keep compresses a large child of dynamic apply. Its JSON holds it twice, as it is and as it was
// last applied, so compression saves half of it. Other objects are read too often for that: parents
// several times a sync.
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

// JSON returns the object without metadata.managedFields. For a compressed object each call
// decompresses it anew. The caller must not change the result.
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
	// Decode writes into the slice that it is given, which is large enough.
	if _, err := s2.Decode(to[len(to):end], o.json); err != nil {
		panic(fmt.Sprintf("what was compressed of %s cannot be decompressed: %v", o, err))
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
