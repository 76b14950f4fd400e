// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import "testing"

func TestIgnores(t *testing.T) {
	observer, _ := observing(t, webs, NewLabelClaims(false))
	observer.Finalizer = "example/held"
	const web = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, generation: 1, `
	const (
		selected = web + `labels: {run: here}}, status: {x: 1}}`
		working  = web + `labels: {run: here}}, status: {x: 2}}`
		others   = web + `labels: {run: there}}, status: {x: 1}}`
		busy     = web + `labels: {run: there}}, status: {x: 2}}`
		held     = web + `labels: {run: there}, finalizers: [example/held]}}`
	)
	tests := map[string]struct {
		rule          Rule
		before, after string
		want          bool
	}{
		"a new parent":                              {Rule{}, "", selected, false},
		"a new object that is not selected":         {Rule{}, "", others, true},
		"a change of one that is not selected":      {Rule{}, others, busy, true},
		"a parent that is not selected any more":    {Rule{}, selected, others, false},
		"an object that becomes a parent":           {Rule{}, others, selected, false},
		"one that is held and not selected":         {Rule{}, "", held, false},
		"one that is let go and not selected":       {Rule{}, held, others, false},
		"the status of a parent":                    {Rule{}, selected, working, false},
		"the status of a parent, ignored":           {Rule{IgnoreStatusChanges: true}, selected, working, true},
		"more than the status, ignored":             {Rule{IgnoreStatusChanges: true}, others, selected, false},
		"an object of a kind that nobody asked for": {Rule{}, "", `{apiVersion: ctl.example/v1, kind: Other, metadata: {name: shop, labels: {run: here}}}`, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.rule.Labels = selecting(t, "run=here")
			observer.Targets[0].Rules = []Rule{test.rule}
			if got := observer.Ignores(optional(t, test.before), parsed(t, test.after)); got != test.want {
				t.Errorf("passed over: %v, want %v", got, test.want)
			}
		})
	}
}
