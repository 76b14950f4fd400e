// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestRowsThatWereNotMeasuredStay(t *testing.T) {
	t.Parallel()
	rows := []row{{scenario: "a", figure: "wall", ours: "1 s", verdict: "1 s", must: "≤ 2 s", value: 1, bound: 2}, {scenario: "b", figure: "RSS", value: 3, bound: 2}}
	old := merge("", rows, "then")
	fresh := []row{{scenario: "c", figure: "wall", value: 1, bound: 2}, {scenario: "b", figure: "RSS", value: 1, bound: 2}}
	want := tableHead + rows[0].line("then") + fresh[1].line("now") + fresh[0].line("now")
	if got := merge(old, fresh, "now"); got != want {
		t.Errorf("the table is\n%swant\n%s", got, want)
	}
}

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
		"the median of three":      {[]float64{3, 1, 2}, 0.5, 2},
		"the median of one":        {[]float64{7}, 0.5, 7},
		"all but one of a hundred": {hundred, 0.99, 99},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := quantile(test.values, test.q); got != test.want {
				t.Errorf("quantile %g of %v is %g, want %g", test.q, test.values, got, test.want)
			}
		})
	}
}
