// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package alloctest

import "testing"

// AtMost fails the test if the function makes more allocations than that.
//
// With the race detector, a sync.Pool drops some of its items at random, and the compiler places less
// on the stack. Some more allocations are allowed then.
func AtMost(t *testing.T, most int, of func()) {
	t.Helper()
	if race {
		most += 1 + most/8
	}
	if got := Least(of); got > most {
		t.Errorf("it makes %d allocations, want at most %d; "+
			"-memprofile of the benchmark beside the test shows where they are", got, most)
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
