// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

const printedByGo = `goos: linux
BenchmarkReplicas/replicas=1-2         	       1	         0 ns/op	     30000 parents-max	     30000 parents-min	       600 rss-MiB	        40.5 update-all-s
BenchmarkReplicas/replicas=3-2         	       1	         0 ns/op	         8.5 after-killed-s	         0.4 after-ended-s	         9.1 after-stopped-s	     10000 parents-max	     10000 parents-min	       300 rss-MiB	        44.5 update-all-s
PASS
`

func TestTheFiguresOfGoBecomeRows(t *testing.T) {
	rows, err := replicaRows(figuresOf(printedByGo, "replicas=1"), figuresOf(printedByGo, "replicas=3"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1.00 ×", "0.50 × of 600 MiB", "1.10 × of 40.5 s", "400 ms", "8.50 s", "9.10 s"}
	if len(rows) != len(want) {
		t.Fatalf("there are %d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if row.verdict != want[i] || !row.met() {
			t.Errorf("%s is %s, met: %t, want %s", row.figure, row.verdict, row.met(), want[i])
		}
	}
}

func TestAFigureThatIsMissingIsAnError(t *testing.T) {
	if _, err := replicaRows(figuresOf(printedByGo, "replicas=1"), figuresOf(printedByGo, "replicas=1")); err == nil {
		t.Error("the benchmark of one replica passes for that of three")
	}
}
