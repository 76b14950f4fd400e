// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// The benchmarks that are compared.
const (
	oneReplica    = "replicas=1"
	threeReplicas = "replicas=3"
)

// measureReplicas measures one replica and three that share 30,000 parents.
func measureReplicas(ctx context.Context, b *bench) ([]row, error) {
	for range b.rounds {
		for _, name := range []string{oneReplica, threeReplicas} {
			figures, err := benchReplicas(ctx, name)
			if err != nil {
				return nil, err
			}
			b.addReplicas(name, figures)
		}
	}
	return b.replicaRows()
}

// addReplicas adds the figures that a round has printed of a benchmark.
func (s samples) addReplicas(name string, figures map[string]float64) {
	for unit, value := range figures {
		s.add(by(unit, name), value)
	}
	s.add(by("uneven", name), figures["parents-max"]/figures["parents-min"])
}

// benchReplicas runs BenchmarkReplicas for one number of replicas, in a process with a host cluster of its own, and returns the
// figures that it prints.
func benchReplicas(ctx context.Context, name string) (map[string]float64, error) {
	command := exec.CommandContext(ctx, "go", "test", "-run=^$", "-bench=^BenchmarkReplicas$/^"+name+"$", "-benchtime=1x", "-timeout=40m", "./test/integration/replicas")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	var printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, printed.Bytes())
	}
	return figuresOf(printed.String(), name), nil
}

// figuresOf reads the figures of a benchmark, by their units, from what go test prints of it.
func figuresOf(printed, name string) map[string]float64 {
	figures := map[string]float64{}
	for line := range strings.Lines(printed) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(line, "Benchmark") || !strings.Contains(words[0]+"-", "/"+name+"-") {
			continue
		}
		for i := 2; i+1 < len(words); i += 2 {
			if value, err := strconv.ParseFloat(words[i], 64); err == nil {
				figures[words[i+1]] = value
			}
		}
	}
	return figures
}

// replicaRows are the rows of all rounds. A bound of memory or of time holds in every round.
func (s samples) replicaRows() ([]row, error) {
	for _, unit := range []string{"parents-min", "parents-max", "rss-MiB", "update-all-s", "after-ended-s", "after-killed-s", "after-stopped-s"} {
		if len(s[by(unit, threeReplicas)]) == 0 {
			return nil, fmt.Errorf("the benchmark of three replicas has not printed %s", unit)
		}
	}
	of := func(unit string) float64 { return s.farthest(by(unit, threeReplicas), 0) }
	const scenario, rss, update = "3 replicas, 30 controllers, 30,000 × 1", "rss-MiB", "update-all-s"
	ofOne, updateOfOne := s.median(by(rss, oneReplica)), s.median(by(update, oneReplica))
	uneven, ratio := of("uneven"), s.ratio(by(update, threeReplicas), by(update, oneReplica))
	rows := []row{{
		scenario: scenario, figure: "parents of the replica with the most against the one with the fewest",
		ours:  fmt.Sprintf("%.0f, %.0f", of("parents-max"), of("parents-max")/uneven),
		value: uneven, bound: 1.2, verdict: times(uneven), must: "≤ 1.2 ×",
	}, {
		scenario: scenario, figure: "RSS of the largest replica against that of one that has all", ours: mebibytes(of(rss)),
		value: of(rss) / ofOne, bound: 1, verdict: times(of(rss)/ofOne) + " of " + mebibytes(ofOne), must: "≤ 1 ×",
	}, {
		scenario: scenario, figure: "update all, wall, against one replica on the same two cores", ours: milliseconds(1000 * s.median(by(update, threeReplicas))),
		value: ratio, bound: 1.25, verdict: times(ratio) + " of " + milliseconds(1000*updateOfOne), must: "≤ 1.25 ×",
	}}
	for _, takeOver := range []struct {
		figure, unit string
		seconds      float64
	}{{"it ends (SIGTERM)", "after-ended-s", 2}, {"it is killed", "after-killed-s", 15}, {"it is stopped for 20 s", "after-stopped-s", 15}} {
		value := of(takeOver.unit)
		rows = append(rows, row{
			scenario: scenario, figure: "until others run the controllers of a replica: " + takeOver.figure, ours: milliseconds(1000 * value),
			value: value, bound: takeOver.seconds, verdict: milliseconds(1000 * value), must: fmt.Sprintf("≤ %g s", takeOver.seconds),
		})
	}
	return rows, nil
}
