// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package calllog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// kept is a ring with what should be in it.
type kept struct {
	*testing.T
	ring
	want [][]byte
	next byte
}

func newKept(t *testing.T, calls int) *kept {
	k := &kept{T: t}
	k.ring = newRing(calls, func(*call) { k.want = k.want[1:] })
	return k
}

func (k *kept) push(size, limit int) {
	k.next++
	content := bytes.Repeat([]byte{k.next}, size)
	copy(k.read(k.add(size, limit).span), content)
	k.want = append(k.want, content)
	k.check(limit)
}

func (k *kept) check(limit int) {
	k.Helper()
	if len(k.bytes) > limit {
		k.Fatalf("the ring has %d bytes, and may have %d", len(k.bytes), limit)
	}
	if k.number != len(k.want) {
		k.Fatalf("%d calls are kept, want %d", k.number, len(k.want))
	}
	for i, want := range k.want {
		if got := k.read(k.at(i).span); !bytes.Equal(got, want) {
			k.Fatalf("call %d has %v, want %v", i, got, want)
		}
	}
}

func (k *kept) sizes() (sizes []int) {
	for _, one := range k.want {
		sizes = append(sizes, len(one))
	}
	return sizes
}

func TestTheOldestCallsMakeRoom(t *testing.T) {
	for name, test := range map[string]struct {
		calls, limit int
		sizes        []int
		want         []int
	}{
		"all fit":                              {calls: 4, limit: 100, sizes: []int{10, 0, 30}, want: []int{10, 0, 30}},
		"there are too many":                   {calls: 2, limit: 100, sizes: []int{1, 2, 3}, want: []int{2, 3}},
		"they have too many bytes":             {calls: 9, limit: 100, sizes: []int{40, 40, 40}, want: []int{40, 40}},
		"one needs the whole ring":             {calls: 9, limit: 100, sizes: []int{40, 40, 100}, want: []int{100}},
		"one without bytes needs none":         {calls: 9, limit: 100, sizes: []int{100, 0, 0}, want: []int{100, 0, 0}},
		"one that crosses the end begins anew": {calls: 9, limit: 100, sizes: []int{60, 30, 30, 30}, want: []int{30, 30, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKept(t, test.calls)
			for _, size := range test.sizes {
				k.push(size, test.limit)
			}
			if got := k.sizes(); !slices.Equal(got, test.want) {
				t.Errorf("kept are %v, want %v", got, test.want)
			}
		})
	}
}

func TestNothingIsLostInARing(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random, k := rand.New(rand.NewPCG(seed, 0)), newKept(t, 7)
			limit := 50_000
			for range 200 {
				if random.IntN(20) == 0 {
					limit = 1000 + random.IntN(50_000)
					k.shrink(limit)
					k.check(limit)
				}
				k.push(random.IntN(limit/2), limit)
			}
		})
	}
}
