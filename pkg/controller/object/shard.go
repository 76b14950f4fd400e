// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"
)

// Shard is one of several parts of all objects, by a hash of their UIDs. The zero value is all of them.
type Shard struct {
	// Index is the number of the part, from 0.
	Index int
	// Of is how many parts there are.
	Of int
}

// ShardOf returns one of several parts; the zero value if there is only one.
func ShardOf(index, of int) Shard {
	if of <= 1 {
		return Shard{}
	}
	return Shard{Index: index, Of: of}
}

// IsAll reports whether all objects are in the part.
func (s Shard) IsAll() bool { return s == Shard{} }

// Has reports whether an object is in the part. The answer never changes: replicas of different builds must
// agree.
func (s Shard) Has(uid types.UID) bool {
	return s.IsAll() || xxhash.Sum64String(string(uid))%uint64(s.Of) == uint64(s.Index)
}

// Name returns the name of a part of something that has a name.
func (s Shard) Name(whole string) string {
	if s.IsAll() {
		return whole
	}
	return fmt.Sprintf("%s/%d", whole, s.Index)
}
