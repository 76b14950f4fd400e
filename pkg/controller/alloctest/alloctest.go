// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alloctest guards how much the work of a sync allocates. Counts are the same on
// any machine, which times are not. Nothing is counted beside parallel tests, whose
// allocations would be counted as well.
package alloctest

import "testing"

// Exactly fails the test unless the function takes that many allocations. Fewer are a
// failure too: the number in the test is to follow, so that it cannot creep back.
//
// With the race detector pools drop at random what they are given, and the compiler places
// less on the stack. Some more are let pass then.
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

// Least is how many allocations the function takes at the least: what comes from a pool
// has to be made now and then.
func Least(of func()) int {
	least := testing.AllocsPerRun(1, of)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, of))
	}
	return int(least)
}
