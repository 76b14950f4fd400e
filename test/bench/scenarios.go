// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// scenario is something to measure.
type scenario struct {
	name string
	// measure returns the rows of a scenario that was measured to its end, in the order of the table.
	measure func(context.Context, *bench) ([]row, error)
}

// allScenarios are the scenarios in the order of the table.
func allScenarios() []scenario {
	return []scenario{
		{"edits", measureEdits},
		{"wide", measureWideEdits},
		{"convergence", measureConvergence},
		{"fleet", measureFleet},
		{"large", measureLarge},
		{"soak", measureSoak},
		{"start", measureStart},
		{"idle", measureIdle},
	}
}

// choose returns the scenarios with these names, all if there are none.
func choose(from []scenario, names []string) ([]scenario, error) {
	known := make([]string, len(from))
	for i, s := range from {
		known[i] = s.name
	}
	var unknown []string
	for _, name := range names {
		if !slices.Contains(known, name) {
			unknown = append(unknown, fmt.Sprintf("%q", name))
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("--scenarios: there is no %s, only %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
	}
	if len(names) == 0 {
		return from, nil
	}
	return slices.DeleteFunc(slices.Clone(from), func(s scenario) bool { return !slices.Contains(names, s.name) }), nil
}

// measure measures the scenarios one after another, also if some fail, and returns what failed. One that fails has no
// rows.
func (b *bench) measure(ctx context.Context, chosen []scenario) error {
	var failed error
	for _, s := range chosen {
		if ctx.Err() != nil {
			break
		}
		b.logf("scenario %s", s.name)
		rows, err := s.measure(ctx, b)
		if err != nil {
			b.logf("it failed: %v", err)
			failed = errors.Join(failed, fmt.Errorf("scenario %s: %w", s.name, err))
			continue
		}
		for _, r := range rows {
			b.logf("%s, %s: %s (must be %s)", r.scenario, r.figure, r.verdict, r.must)
		}
		b.rows = append(b.rows, rows...)
	}
	return failed
}
