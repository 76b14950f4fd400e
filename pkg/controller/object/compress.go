// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"math"
	"slices"

	"github.com/klauspost/compress/s2"
)

// compressionThreshold is the size in bytes from which Keep compresses.
const compressionThreshold = 2 << 10

// Keep makes an object one that can stay for long: its bytes are its own, and take no more memory than they need. A large
// child of dynamic apply is compressed: it is there twice, as it is and as it was applied last, so that half of it goes. Other
// objects are read more often than they are worth compressing: parents several times a sync. Nobody else may know the object yet.
func (r *Reader) Keep(o *Object) {
	if o.size > 0 {
		return
	}
	if !o.hasLastApplied || len(o.json) < compressionThreshold || len(o.json) > math.MaxInt32 {
		o.json = slices.Clone(o.json)
		return
	}
	const worth = 8 // an eighth must be gained
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
