// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestQ38OfDuplicateChildrenTheLastCounts(t *testing.T) {
	const (
		first        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {value: "1"}}`
		second       = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}}, data: {value: "2"}}`
		third        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {value: "3"}}`
		other        = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`
		oneTwice     = "the hook lists ConfigMap default/a more than once, and the last one counts; list it once"
		severalTwice = "the hook lists children more than once, and the last one of each counts; list each once: Deployment default/a, ConfigMap default/a"
		another      = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {app: shop}}}`
	)
	tests := map[string]struct {
		answer  []string
		warning string
		creates []string
	}{
		"none":                                     {[]string{first, other, another}, "", []string{"create ConfigMap default/a", "create ConfigMap default/b", "create Deployment default/a"}},
		"the same twice":                           {[]string{first, other, first}, oneTwice, []string{"create ConfigMap default/a", "create ConfigMap default/b"}},
		"one of them names its namespace":          {[]string{first, second}, oneTwice, []string{"create ConfigMap default/a"}},
		"one of three is told once":                {[]string{second, first, third}, oneTwice, []string{"create ConfigMap default/a"}},
		"each of several is told":                  {[]string{first, another, another, third}, severalTwice, []string{"create ConfigMap default/a", "create Deployment default/a"}},
		"another name and another type are others": {[]string{other, another}, "", []string{"create ConfigMap default/b", "create Deployment default/a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps, deployments)
			planned := w.plan(w.answer(test.answer...))
			var want []pipeline.Warning
			if test.warning != "" {
				want = []pipeline.Warning{{Reason: pipeline.DuplicateChild, Message: test.warning}}
			}
			if diff := cmp.Diff(want, planned.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if len(planned.Refused) > 0 {
				t.Errorf("refused: %v", planned.Refused)
			}
			if diff := cmp.Diff(test.creates, steps(planned)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("its content", func(t *testing.T) {
		w := newWorld(t, web, configMaps)
		planned := w.plan(w.answer(first, third))
		if got := string(parseJSON(t, planned.Steps[0].Body).Lookup("data", "value")); got != `"3"` {
			t.Errorf("it holds %s", got)
		}
	})
}

func TestQ38StrictlyReadDuplicateChildrenAreAnError(t *testing.T) {
	w := newWorld(t, web, configMaps)
	response := w.answer(
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`)
	response.Status, response.Strict = []byte(`{"ready":true}`), true
	planned := w.plan(response)
	want := []string{"the hook lists ConfigMap default/a more than once: no child and no status was written; " +
		"list each child once, or set responseUnMarshallMode to loose, which makes the last one count"}
	if diff := cmp.Diff(want, refusals(planned)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if len(planned.Steps) > 0 || len(planned.Warnings) > 0 {
		t.Errorf("steps %v and warnings %v", steps(planned), planned.Warnings)
	}
}
