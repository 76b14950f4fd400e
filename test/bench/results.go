// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
)

// row is a line of the table.
type row struct {
	scenario, figure string
	ours             string
	native, floor    string // "" if they are not measured
	value, bound     float64
	verdict          string // value as it is compared with bound
	must             string // "" if the figure has no bound
}

func (r row) met() bool { return r.must == "" || r.value <= r.bound }

const tableHead = "| scenario | figure | ours | native | floor | result | must be | | measured |\n|---|---|---|---|---|---|---|---|---|\n"

// line is the row as Markdown.
func (r row) line(run string) string {
	met := "met"
	switch {
	case r.must == "":
		met = "-"
	case !r.met():
		met = "**missed**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.scenario, r.figure, r.ours, cmp.Or(r.native, "-"), cmp.Or(r.floor, "-"),
		r.verdict, cmp.Or(r.must, "-"), met, run)
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

// against compares us with another contestant.
func (s samples) against(scenario, figure, what, whom string, bound float64) row {
	ratio := s.ratio(by(what, ourName), by(what, whom))
	r := row{
		scenario: scenario, figure: figure, ours: milliseconds(s.median(by(what, ourName))), value: ratio, bound: bound,
		verdict: times(ratio) + " " + whom, must: fmt.Sprintf("≤ %g × %s", bound, whom),
	}
	if len(s[by(what, nativeName)]) > 0 {
		r.native = milliseconds(s.median(by(what, nativeName)))
	}
	if len(s[by(what, floorName)]) > 0 {
		r.floor = milliseconds(s.median(by(what, floorName)))
	}
	return r
}

// inlineRow compares us with an inline hook with another contestant.
func (s samples) inlineRow(scenario, figure, what, whom string, bound float64) row {
	of := func(who string) string { return milliseconds(s.median(by(what, who))) }
	ratio := s.ratio(by(what, inlineName), by(what, whom))
	if whom == ourName {
		whom = "webhook"
	}
	return row{
		scenario: scenario, figure: figure, ours: of(inlineName), native: of(nativeName), floor: of(floorName),
		value: ratio, bound: bound, verdict: times(ratio) + " " + whom, must: fmt.Sprintf("≤ %g × %s", bound, whom),
	}
}

// editRows compares edits with those of the native operator and one round trip to the hook.
func (s samples) editRows(scenario string, pagesPerSite int) []row {
	const bound = 1.2
	var rows []row
	for _, q := range quantilesOfEdits() {
		what := editsOf(pagesPerSite, q)
		of := func(who string) string { return milliseconds(s.median(by(what, who))) }
		ratio := s.ratio(by(what, ourName), by(what, nativeName), by(what, hookName))
		rows = append(rows, row{
			scenario: scenario, figure: q.name + " of edit to last child",
			ours: of(ourName), native: of(nativeName) + " + " + of(hookName), floor: of(floorName),
			value: ratio, bound: bound, verdict: times(ratio) + " native and hook", must: "≤ 1.2 ×",
		})
	}
	return rows
}
