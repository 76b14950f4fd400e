// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for name, test := range map[string]struct {
		values  []float64
		q, want float64
	}{
		"the middle one of three":  {[]float64{3, 1, 2}, 0.5, 2},
		"of one":                   {[]float64{7}, 0.5, 7},
		"of none":                  {nil, 0.5, math.NaN()},
		"all but one of a hundred": {hundred, 0.99, 99},
		"the least":                {hundred, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := quantile(test.values, test.q); !same(got, test.want) {
				t.Errorf("quantile %g of %v is %g, want %g", test.q, test.values, got, test.want)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   float64
	}{
		"of three":                   {[]float64{3, 1, 2}, 2},
		"half-way between two":       {[]float64{4, 1}, 2.5},
		"half-way between four's":    {[]float64{9, 4, 1, 2}, 3},
		"of one":                     {[]float64{7}, 7},
		"of none there is no number": {nil, math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := median(test.values); !same(got, test.want) {
				t.Errorf("the median of %v is %g, want %g", test.values, got, test.want)
			}
		})
	}
}

// One bad round of three is enough to miss what must hold always.
func TestTheRoundThatIsFarthest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values     []float64
		from, want float64
	}{
		"too many once":  {[]float64{0, 500, 0}, 0, 500},
		"too few once":   {[]float64{1, 0.5, 1.1}, 1, 0.5},
		"none":           {[]float64{0, 0}, 0, 0},
		"never measured": {nil, 0, math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (samples{"a": test.values}).farthest("a", test.from); !same(got, test.want) {
				t.Errorf("of %v the farthest from %g is %g, want %g", test.values, test.from, got, test.want)
			}
		})
	}
}

// same is equality by which there is also no number where none is wanted.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestRatioIsOfEachRound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		measured samples
		want     float64
	}{
		"a slow round":               {samples{"a": {2, 30, 6}, "b": {1, 10, 1}, "c": {1, 10, 1}}, 1.5},
		"a round that is incomplete": {samples{"a": {2, 4}, "b": {1, 1}, "c": {1}}, math.NaN()},
		"nothing to compare with":    {samples{"a": {2, 4}, "b": {1, 1}}, math.NaN()},
		"nothing":                    {samples{}, math.NaN()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.measured.ratio("a", "b", "c"); !same(got, test.want) {
				t.Errorf("the ratio is %g, want %g", got, test.want)
			}
		})
	}
}

func TestEditsAreInMilliseconds(t *testing.T) {
	t.Parallel()
	measured := samples{}
	measured.addEdits(10, floorName, []time.Duration{3 * time.Millisecond, 500 * time.Microsecond, time.Second})
	for what, want := range map[string]float64{"edit 10 p50 floor": 3, "edit 10 p99 floor": 1000} {
		if got := measured[what]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %g", what, got, want)
		}
	}
}
