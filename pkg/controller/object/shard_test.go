// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
)

func TestEachObjectIsInOneShard(t *testing.T) {
	const of, objects = 4, 4000
	count := [of]int{}
	for range objects {
		uid, found := uuid.NewUUID(), 0
		if !(Shard{}).Has(uid) || !ShardOf(0, 1).Has(uid) {
			t.Fatalf("%s is not among all", uid)
		}
		for index := range of {
			if ShardOf(index, of).Has(uid) {
				count[index]++
				found++
			}
		}
		if found != 1 {
			t.Fatalf("%s is in %d shards", uid, found)
		}
	}
	for index, has := range count {
		if has < objects/of*3/4 || has > objects/of*5/4 {
			t.Errorf("shard %d has %d of %d objects", index, has, objects)
		}
	}
}

// Replicas of different builds run side by side.
func TestTheShardOfAnObjectNeverChanges(t *testing.T) {
	for uid, want := range map[types.UID]int{
		"0b0f9c0e-6a0b-4f5c-9a3a-0e6f1f2b7c11": 7,
		"5d2cbb0b-5a0f-4f6e-8a0e-3c8d3a1fb1c2": 1,
		"c7a7a5a1-0d53-45de-a4a1-62dfb4b5f0a3": 5,
	} {
		for index := range 16 {
			if has := ShardOf(index, 16).Has(uid); has != (index == want) {
				t.Errorf("%s in shard %d of 16: %t", uid, index, has)
			}
		}
	}
}

func TestTheNameOfAShard(t *testing.T) {
	if whole, part := ShardOf(0, 1).Name("c"), ShardOf(2, 3).Name("c"); whole != "c" || part != "c/2" {
		t.Errorf("the names are %q and %q", whole, part)
	}
}
