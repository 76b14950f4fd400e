// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func selecting(t *testing.T, text string) labels.Selector {
	t.Helper()
	selector, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

func annotated(t *testing.T, key, value string) AnnotationSelector {
	t.Helper()
	selector, err := NewAnnotationSelector(map[string]string{key: value}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return selector
}

// Q41: of two rules for one kind both count.
func TestQ41AnyRuleSelects(t *testing.T) {
	target := &Target{Rules: []Rule{
		{Labels: selecting(t, "app=a")},
		{Labels: selecting(t, "app=b"), Annotations: annotated(t, "run", "yes")},
	}}
	for parent, want := range map[string]bool{
		`{metadata: {labels: {app: a}}}`:                            true,
		`{metadata: {labels: {app: b}, annotations: {run: "yes"}}}`: true,
		`{metadata: {labels: {app: b}}}`:                            false,
		`{metadata: {labels: {app: c}, annotations: {run: "yes"}}}`: false,
		`{metadata: {}}`: false,
	} {
		if got := target.selects(parsed(t, parent)); got != want {
			t.Errorf("%s is selected: %v, want %v", parent, got, want)
		}
	}
}

func TestAChangeOfStatusIsPassedOverIfNoRuleWantsIt(t *testing.T) {
	watching, ignoring := Rule{Labels: selecting(t, "app=a")}, Rule{Labels: selecting(t, "app=b"), IgnoreStatusChanges: true}
	both := Rule{Labels: selecting(t, "app"), IgnoreStatusChanges: true}
	const a, b, c = `{metadata: {labels: {app: a}}}`, `{metadata: {labels: {app: b}}}`, `{metadata: {labels: {app: c}}}`
	tests := map[string]struct {
		rules  []Rule
		parent string
		want   bool
	}{
		"the rule wants it":                           {[]Rule{watching}, a, false},
		"the rule ignores it":                         {[]Rule{ignoring}, b, true},
		"the rule that selects wants it":              {[]Rule{ignoring, watching}, a, false},
		"the rule that selects ignores it":            {[]Rule{watching, ignoring}, b, true},
		"both select, and one wants it":               {[]Rule{both, watching}, a, false},
		"none selects, and one of them would want it": {[]Rule{watching, ignoring}, c, true},
		"none selects, and none would ignore it":      {[]Rule{watching}, c, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (&Target{Rules: test.rules}).ignoresStatus(parsed(t, test.parent)); got != test.want {
				t.Errorf("passed over: %v, want %v", got, test.want)
			}
		})
	}
}

func TestWhoNeedsToSeeAllParents(t *testing.T) {
	labelled, unlabelled := Rule{Labels: labels.SelectorFromSet(labels.Set{"a": "1"})}, Rule{Labels: labels.Everything()}
	for name, test := range map[string]struct {
		rules     []Rule
		finalizes bool
		want      bool
	}{
		"it selects by labels":               {[]Rule{labelled}, false, false},
		"each of its rules does":             {[]Rule{labelled, labelled}, false, false},
		"one of its rules does not":          {[]Rule{labelled, unlabelled}, false, true},
		"it selects by labels and finalizes": {[]Rule{labelled}, true, true},
		"it selects everything":              {[]Rule{unlabelled}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NeedsAllObjects(test.rules, test.finalizes); got != test.want {
				t.Errorf("it needs to see all parents: %v", got)
			}
		})
	}
}
