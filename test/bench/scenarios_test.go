// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestChooseScenarios(t *testing.T) {
	t.Parallel()
	from := []scenario{{name: "edits"}, {name: "fleet"}, {name: "soak"}}
	for name, test := range map[string]struct {
		names  []string
		want   []string
		errors string
	}{
		"all, of no names":           {nil, []string{"edits", "fleet", "soak"}, ""},
		"in the order of the table":  {[]string{"soak", "edits"}, []string{"edits", "soak"}, ""},
		"a name that is twice there": {[]string{"fleet", "fleet"}, []string{"fleet"}, ""},
		"an unknown name":            {[]string{"edit", "soak"}, nil, `--scenarios: there is no "edit", only edits, fleet, soak`},
		"an empty name":              {[]string{""}, nil, `there is no "", only`},
		"all unknown names":          {[]string{"edit", "fleets"}, nil, `there is no "edit", "fleets", only`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen, err := choose(from, test.names)
			var got []string
			for _, s := range chosen {
				got = append(got, s.name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("chosen are %q, want %q", got, test.want)
			}
			if (err != nil) != (test.errors != "") || err != nil && !strings.Contains(err.Error(), test.errors) {
				t.Errorf("the error is %v, want %q in it", err, test.errors)
			}
		})
	}
}

func TestAScenarioThatFailsHasNoRows(t *testing.T) {
	t.Parallel()
	broken := errors.New("the host is gone")
	of := func(name string, err error) scenario {
		return scenario{name, func(context.Context, *bench) ([]row, error) { return []row{{scenario: name}}, err }}
	}
	b := &bench{samples: samples{}}
	err := b.measure(t.Context(), []scenario{of("first", nil), of("second", broken), of("third", nil)})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "second") {
		t.Errorf("the error is %v, want %q of the second", err, broken)
	}
	if len(b.rows) != 2 || b.rows[0].scenario != "first" || b.rows[1].scenario != "third" {
		t.Errorf("the rows are %+v, want those of the first and the third", b.rows)
	}
}

func TestEveryScenarioReturnsItsErrorBeforeItMakesRows(t *testing.T) {
	// There is no server to start, and no time to build one.
	t.Setenv("METACONTROLLER_APISERVER", "")
	t.Setenv("TMPDIR", t.TempDir())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range allScenarios() {
		t.Run(s.name, func(t *testing.T) {
			b := &bench{samples: samples{}, rounds: 1, soak: shortestSoak}
			rows, err := s.measure(over, b)
			if !errors.Is(err, context.Canceled) || len(rows) > 0 || len(b.steps) > 0 {
				t.Errorf("got the error %v and %d rows, want that it is over and no rows", err, len(rows))
			}
		})
	}
}
