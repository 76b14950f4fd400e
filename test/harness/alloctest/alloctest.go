// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package alloctest

import "testing"

// Exactly fails the test unless the function makes that number of allocations. It fails for fewer,
// too: the number in the test must follow, so that the allocations cannot come back unnoticed.
//
// With the race detector, a sync.Pool drops some of its items at random, and the compiler places less
// on the stack. Some more allocations are allowed then.
func Exactly(t *testing.T, want int, of func()) {
	t.Helper()
	most := want
	if race {
		most += 1 + want/8
	}
	switch got := Least(of); {
	case got > most:
		t.Errorf("it takes %d allocations, want %d; -memprofile of the benchmark beside the test shows where they are", got, want)
	case got < want:
		t.Errorf("it takes only %d allocations, put that into the test in place of %d", got, want)
	}
}

// Least returns the smallest number of allocations of many calls of the function. Single calls may
// make more, because pools are sometimes emptied.
func Least(of func()) int {
	least := testing.AllocsPerRun(1, of)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, of))
	}
	return int(least)
}
