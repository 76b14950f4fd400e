// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// outcomeOf returns an outcome whose fields are YAML.
func outcomeOf(t *testing.T, text string) *Outcome {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	came := &Outcome{}
	if err := utiljson.Unmarshal(raw, &came.fields); err != nil {
		t.Fatal(err)
	}
	return came
}

func expectedOf(t *testing.T, text string) *Expected {
	t.Helper()
	expected := &Expected{}
	if err := yaml.UnmarshalStrict([]byte(text), expected); err != nil {
		t.Fatal(err)
	}
	return expected
}

const website = `
result: Changed
status: {ready: 1, url: http://a}
children:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {a: b}}
- {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: x, image: y}, {name: z}]}}
steps:
- {step: create ConfigMap b, why: it is not there, object: {a: b}}
- {step: update Pod a, why: it differs, changes: {spec.image: {from: a, to: b}, spec.name: {to: c}}}
events: [{type: Normal, reason: A, message: long}]
`

func TestCompare(t *testing.T) {
	for name, test := range map[string]struct{ expected, came, want string }{
		"what is not named is not looked at": {`{status: {ready: 1}, events: [{reason: A}]}`, website, ""},
		"a field differs":                    {`{status: {ready: 2}}`, website, "  status:\n-   ready: 2\n+   ready: 1\n"},
		"a field is missing":                 {`{status: {gone: 1, ready: 1}}`, website, "  status:\n-   gone: 1\n    ready: 1\n"},
		"children in another order":          {`{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}`, website, ""},
		"items of lists in part":             {`{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{image: y}, {}]}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}`, website, ""},
		"a child that is not expected": {`{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`, website,
			"  ...\n    kind: Pod\n    metadata:\n      name: a\n+ - apiVersion: v1\n+   kind: ConfigMap\n+   metadata:\n+     name: b\n+   data:\n+     a: b\n"},
		"steps as text":                     {`{steps: [create ConfigMap b, update Pod a]}`, website, ""},
		"steps in another order":            {`{steps: [update Pod a, create ConfigMap b]}`, website, "  steps:\n+ - create ConfigMap b\n  - update Pod a\n- - create ConfigMap b\n"},
		"a step with its changes":           {`{steps: [create ConfigMap b, {step: update Pod a, changes: {spec.image: {to: b}}}]}`, website, ""},
		"other changes of a step":           {`{steps: [create ConfigMap b, {step: update Pod a, changes: {spec.image: {to: c}}}]}`, website, "  ...\n  - step: update Pod a\n    changes:\n      spec.image:\n-       to: c\n+       to: b\n"},
		"no steps":                          {`{steps: []}`, `{steps: []}`, ""},
		"everything, and there is more":     {`{exact: true, status: {ready: 1}}`, website, "  status:\n    ready: 1\n+   url: http://a\n"},
		"everything":                        {`{exact: true, status: {ready: 1, url: http://a}}`, website, ""},
		"a part of the error":               {`{error: refused}`, `{error: connection refused by a}`, ""},
		"another error":                     {`{error: timeout}`, `{error: connection refused}`, "- error: timeout\n+ error: connection refused\n"},
		"an error of which nothing is said": {`{status: {ready: 1}}`, `{status: {ready: 1}, error: it fell}`, "+ error: it fell\n  status:\n    ready: 1\n"},
		"a warning of which nothing is said": {`{result: Changed}`, `{result: Changed, warnings: [{reason: A, message: b}]}`,
			"  result: Changed\n+ warnings:\n+ - reason: A\n+   message: b\n"},
		"parts of what is refused": {`{refused: [twice, name]}`, `{refused: ["a is there twice", "b has no name"]}`, ""},
		"one more is refused":      {`{refused: [twice]}`, `{refused: ["a is there twice", "b has no name"]}`, "  refused:\n  - twice\n+ - b has no name\n"},
		"a list that is no list":   {`{children: []}`, `{children: no}`, "- children: []\n+ children: false\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compare(expectedOf(t, test.expected), outcomeOf(t, test.came))
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("the difference is\n%s\nwant\n%s\n%s", got, test.want, cmp.Diff(test.want, got))
			}
		})
	}
}

func TestACaseThatExpectsNothingIsAnError(t *testing.T) {
	if _, err := compare(nil, outcomeOf(t, website)); err == nil {
		t.Error("it passes")
	}
}
