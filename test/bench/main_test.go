// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"
)

func TestFlagsThatMeasureNothingAreRefusedBeforeAnythingIsMeasured(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rounds int
		soak   time.Duration
		only   []string
		want   string
	}{
		"no rounds":           {0, time.Minute, nil, "--rounds: 0 rounds"},
		"fewer than none":     {-1, time.Minute, nil, "--rounds: -1 rounds"},
		"a soak of a second":  {1, time.Second, nil, "--soak: 1s are too short to see memory grow; at least 10s are needed"},
		"an unknown scenario": {1, time.Minute, []string{"edit"}, `there is no "edit", only edits, wide, convergence, fleet, large, soak, start, idle`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bench{samples: samples{}, rounds: test.rounds, soak: test.soak}
			if err := run(t.Context(), b, test.only, ""); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q in it", err, test.want)
			}
		})
	}
}
