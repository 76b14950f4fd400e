// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// The first round is usual. In the second one, a replica that ended was taken over late, and everything took twice as long.
const (
	firstRound = `goos: linux
BenchmarkReplicas/replicas=1-2         	       1	         0 ns/op	     30000 parents-max	     30000 parents-min	       600 rss-MiB	        40.0 update-all-s
BenchmarkReplicas/replicas=3-2         	       1	         0 ns/op	         8.5 after-killed-s	         0.4 after-ended-s	         9.1 after-stopped-s	     10000 parents-max	     10000 parents-min	       300 rss-MiB	        44.0 update-all-s
PASS
`
	secondRound = `goos: linux
BenchmarkReplicas/replicas=1-2         	       1	         0 ns/op	     30000 parents-max	     30000 parents-min	       600 rss-MiB	        80.0 update-all-s
BenchmarkReplicas/replicas=3-2         	       1	         0 ns/op	         8.4 after-killed-s	         2.4 after-ended-s	         9.0 after-stopped-s	     11000 parents-max	     10000 parents-min	       330 rss-MiB	        88.0 update-all-s
PASS
`
)

func samplesOf(rounds ...string) samples {
	s := samples{}
	for _, printed := range rounds {
		for _, name := range []string{oneReplica, threeReplicas} {
			s.addReplicas(name, figuresOf(printed, name))
		}
	}
	return s
}

func TestTheFiguresOfGoBecomeRows(t *testing.T) {
	for name, test := range map[string]struct {
		rounds   []string
		verdicts []string
		missed   int
	}{
		"of one round":       {[]string{firstRound}, []string{"1.00 ×", "0.50 × of 600 MiB", "1.10 × of 40.0 s", "400 ms", "8.50 s", "9.10 s"}, 0},
		"the worst of two":   {[]string{firstRound, secondRound}, []string{"1.10 ×", "0.55 × of 600 MiB", "1.10 × of 60.0 s", "2.40 s", "8.50 s", "9.10 s"}, 1},
		"in the other order": {[]string{secondRound, firstRound}, []string{"1.10 ×", "0.55 × of 600 MiB", "1.10 × of 60.0 s", "2.40 s", "8.50 s", "9.10 s"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := samplesOf(test.rounds...).replicaRows()
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != len(test.verdicts) {
				t.Fatalf("there are %d rows, want %d", len(rows), len(test.verdicts))
			}
			missed := 0
			for i, row := range rows {
				if row.verdict != test.verdicts[i] {
					t.Errorf("%s is %s, want %s", row.figure, row.verdict, test.verdicts[i])
				}
				if !row.met() {
					missed++
				}
			}
			if missed != test.missed {
				t.Errorf("%d rows are missed, want %d", missed, test.missed)
			}
		})
	}
}

func TestAFigureThatIsMissingIsAnError(t *testing.T) {
	s := samples{}
	s.addReplicas(threeReplicas, figuresOf(firstRound, oneReplica))
	if _, err := s.replicaRows(); err == nil {
		t.Error("the benchmark of one replica passes for that of three")
	}
}
