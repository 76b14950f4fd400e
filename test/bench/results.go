// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// samples are what rounds have measured, by what it is, such as "update all wall floor".
type samples map[string][]float64

func (s samples) add(what string, value float64) { s[what] = append(s[what], value) }

func (s samples) addTime(what string, value time.Duration) { s.add(what, value.Seconds()*1000) }

// median of all rounds.
func (s samples) median(what string) float64 { return quantile(s[what], 0.5) }

// ratio is the median of the rounds' own ratios, so that a machine which is slower for a while slows both.
func (s samples) ratio(what, to string) float64 {
	var ratios []float64
	for i := range min(len(s[what]), len(s[to])) {
		ratios = append(ratios, s[what][i]/s[to][i])
	}
	return quantile(ratios, 0.5)
}

// quantile is the smallest value that this share of the values is not above; NaN if there are none.
func quantile[V cmp.Ordered](values []V, q float64) V {
	if len(values) == 0 {
		var none V
		if nan, is := any(math.NaN()).(V); is {
			return nan
		}
		return none
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// row is a line of the table.
type row struct {
	scenario, figure string
	ours             string
	native, floor    string // "" if they are not measured
	value, bound     float64
	verdict          string // value as it is compared with bound
	must             string
}

func (r row) met() bool { return r.value <= r.bound }

const tableHead = "| scenario | figure | ours | native | floor | result | must be | | measured |\n|---|---|---|---|---|---|---|---|---|\n"

// line is the row as Markdown.
func (r row) line(run string) string {
	met := "met"
	if !r.met() {
		met = "**missed**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.scenario, r.figure, r.ours, cmp.Or(r.native, "-"), cmp.Or(r.floor, "-"),
		r.verdict, r.must, met, run)
}

func milliseconds(value float64) string {
	switch {
	case value >= 10_000:
		return fmt.Sprintf("%.1f s", value/1000)
	case value >= 1000:
		return fmt.Sprintf("%.2f s", value/1000)
	case value >= 10:
		return fmt.Sprintf("%.0f ms", value)
	}
	return fmt.Sprintf("%.2f ms", value)
}

func mebibytes(value float64) string { return fmt.Sprintf("%.0f MiB", value) }

func times(value float64) string { return fmt.Sprintf("%.2f ×", value) }
