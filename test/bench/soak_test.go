// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
	"time"
)

func TestGrowthIsBetweenTheSecondTenthAndTheLast(t *testing.T) {
	t.Parallel()
	looks := func(count int) []float64 {
		values := make([]float64, count)
		for i := range values {
			values[i] = float64(i)
		}
		return values
	}
	for name, test := range map[string]struct {
		resident      []float64
		before, after float64
	}{
		"no look":         {nil, math.NaN(), math.NaN()},
		"one look":        {looks(1), math.NaN(), math.NaN()},
		"too few looks":   {looks(9), math.NaN(), math.NaN()},
		"the least looks": {looks(10), 1, 9},
		"no whole tenths": {looks(19), 1, 18},
		"of ten minutes":  {looks(600), 89, 569},
		"less at the end": {append(looks(10), 2), 1, 2},
		"all of the same": {make([]float64, 40), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &soak{resident: test.resident}
			if before, after := s.growth(); !same(before, test.before) || !same(after, test.after) {
				t.Errorf("the memory grows from %g to %g, want from %g to %g", before, after, test.before, test.after)
			}
		})
	}
}

func TestRowsOfASoakSayHowLongItWas(t *testing.T) {
	t.Parallel()
	for duration, want := range map[time.Duration]string{
		10 * time.Minute: "50 changes/s for 10 minutes",
		time.Minute:      "50 changes/s for 1 minute",
		90 * time.Second: "50 changes/s for 1m30s",
		40 * time.Second: "50 changes/s for 40s",
	} {
		for _, r := range (&soak{}).rows(duration) {
			if r.scenario != want || r.met() {
				t.Errorf("the row of %s without a sample is of %q and met: %t, want %q and not met", duration, r.scenario, r.met(), want)
			}
		}
	}
}
