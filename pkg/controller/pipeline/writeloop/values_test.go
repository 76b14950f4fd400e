// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhichValuesAlternate(t *testing.T) {
	tests := map[string]struct{ kind, path, observed, body, has, wants string }{
		"texts":                     {"ConfigMap", "data.a", `"data":{"a":"x"}`, `"data":{"a":"y"}`, "", ""},
		"booleans":                  {"Web", "spec.a", `"spec":{"a":true}`, `"spec":{"a":false}`, "true", "false"},
		"a number and a text":       {"Web", "spec.a", `"spec":{"a":1}`, `"spec":{"a":"1"}`, "", ""},
		"null":                      {"Web", "spec.a", `"spec":{"a":null}`, `"spec":{"a":1}`, "", ""},
		"numbers in a list":         {"Deployment", "spec.items[1].n", `"spec":{"items":[{"n":0},{"n":1}]}`, `"spec":{"items":[{"n":0},{"n":2}]}`, "1", "2"},
		"an item by name":           {"Web", "spec.limits[a]", `"spec":{"limits":{"a":1}}`, `"spec":{"limits":{"a":2}}`, "1", "2"},
		"a name with dots":          {"Web", "spec.limits.example.com/a", `"spec":{"limits":{"example.com/a":1}}`, `"spec":{"limits":{"example.com/a":2}}`, "1", "2"},
		"a value that is not there": {"Web", "spec.a", `"spec":{}`, `"spec":{"a":1}`, "", ""},
		"an item that is not there": {"ConfigMap", "list[3]", `"list":[1]`, `"list":[1,2,3,4]`, "", ""},
		"a whole object":            {"ConfigMap", "data", `"data":{"b":"x"}`, `"data":{"a":"y"}`, "", ""},
		"a Secret":                  {"Secret", "data.a", `"data":{"a":1}`, `"data":{"a":2}`, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			observed, err := object.Parse([]byte(`{"apiVersion":"v1","kind":"` + test.kind + `",` + test.observed + `}`))
			if err != nil {
				t.Fatal(err)
			}
			step := &pipeline.Step{Type: object.Type{Kind: test.kind}, Path: test.path, Observed: observed, Body: []byte(`{` + test.body + `}`)}
			if has, wants := alternating(step); has != test.has || wants != test.wants {
				t.Errorf("it has %s and wants %s", has, wants)
			}
			step.Body = nil
			if has, wants := alternating(step); has+wants != "" {
				t.Errorf("of a child that is deleted to be made again, it has %s and wants %s", has, wants)
			}
		})
	}
}
