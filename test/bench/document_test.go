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
