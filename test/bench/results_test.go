// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestEditsAreComparedWithTheOperatorAndTheHook(t *testing.T) {
	t.Parallel()
	measured := samples{}
	for _, slower := range []time.Duration{1, 5, 1} {
		measured.addEdits(10, ourName, []time.Duration{22 * slower * time.Millisecond})
		measured.addEdits(10, nativeName, []time.Duration{19 * slower * time.Millisecond})
		measured.addEdits(10, hookName, []time.Duration{slower * time.Millisecond})
		measured.addEdits(10, floorName, []time.Duration{15 * slower * time.Millisecond})
	}
	rows := measured.editRows("one edit", 10)
	want := []string{
		"| one edit | p50 of edit to last child | 22 ms | 19 ms + 1.00 ms | 15 ms | 1.10 × native and hook | ≤ 1.2 × | met | now |\n",
		"| one edit | p99 of edit to last child | 22 ms | 19 ms + 1.00 ms | 15 ms | 1.10 × native and hook | ≤ 1.2 × | met | now |\n",
	}
	if len(rows) != len(want) {
		t.Fatalf("there are %d rows, want %d", len(rows), len(want))
	}
	for i, line := range want {
		if got := rows[i].line("now"); got != line {
			t.Errorf("row %d is\n%swant\n%s", i, got, line)
		}
	}
}

func TestWhatIsNotMeasuredIsMissed(t *testing.T) {
	t.Parallel()
	measured := samples{by("wall", ourName): {1, 2}, by("wall", floorName): {1}}
	measured.addEdits(10, ourName, []time.Duration{time.Millisecond})
	rows := append(measured.editRows("one edit", 10), (&bench{samples: measured}).inlineRows(10)...)
	for _, r := range append(rows, measured.against("all", "wall", "wall", floorName, 1.15), measured.newcomersRow()) {
		if r.met() {
			t.Errorf("%q, %q is met with incomplete rounds: %+v", r.scenario, r.figure, r)
		}
	}
}
