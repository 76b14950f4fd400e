// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
)

// compressedFrom is the size in bytes from which Keep compresses.
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

// Keep makes the object one that can stay for long: its bytes are its own, and take no more memory than they need. A large
// child of dynamic apply is compressed: it is there twice, as it is and as it was applied last, so that half of it goes. Other
// objects are read more often than they are worth compressing: parents several times a sync. Nobody else may know the object yet.
func (o *Object) Keep() {
	if o.size > 0 {
		return
	}
	if !o.recorded || len(o.json) < compressedFrom || len(o.json) > math.MaxInt32 {
		o.json = slices.Clone(o.json)
		return
	}
	const worth = 8 // an eighth must be gained
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	*scratch = slices.Grow((*scratch)[:0], s2.MaxEncodedLen(len(o.json)))
	compressed := s2.Encode(*scratch, o.json)
	if len(compressed) > len(o.json)-len(o.json)/worth {
		o.json = slices.Clone(o.json)
		return
	}
	o.json, o.size = slices.Clone(compressed), int32(len(o.json))
}

// scratches are where objects are compressed.
var scratches = sync.Pool{New: func() any { return new([]byte) }}
