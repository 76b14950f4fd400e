// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestOutdatedChildren(t *testing.T) {
	const childB, childBChanged = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: one}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: two}}`
	tests := map[string]struct {
		observed, desired []string
		want              map[Method]int
	}{
		"children as they are wanted": {[]string{childA, childB}, []string{childA, childB}, nil},
		"one that differs":            {[]string{childA, childB}, []string{childA, childBChanged}, map[Method]int{"": 1, OnDelete: 1}},
		"two that differ":             {[]string{childA, childB}, []string{childAChanged, childBChanged}, map[Method]int{"": 2, OnDelete: 2}},
		"a new one":                   {nil, []string{childA}, nil},
		"one that is not wanted":      {[]string{childA}, nil, nil},
	}
	for name, test := range tests {
		for _, method := range []Method{"", OnDelete, Recreate, InPlace} {
			t.Run(fmt.Sprintf("%s, %s", name, method), func(t *testing.T) {
				w := newWorld(t, web, configMaps).method(method).has(configMaps, test.observed...)
				for range 2 {
					if planned := w.plan(w.answer(test.desired...)); planned.Outdated != test.want[method] {
						t.Errorf("%d are outdated, want %d", planned.Outdated, test.want[method])
					}
				}
			})
		}
	}
}

func TestAChildThatIsBeingDeletedIsNotOutdated(t *testing.T) {
	w := newWorld(t, web, configMaps).has(configMaps, childA)
	w.child(configMaps, "a").DeletionTimestamp = &w.parent.CreationTimestamp
	if planned := w.plan(w.answer(childAChanged)); planned.Outdated != 0 {
		t.Errorf("%d are outdated", planned.Outdated)
	}
}

func TestAnUnknownFieldAloneMakesNoChildOutdated(t *testing.T) {
	w := newWorld(t, web, deployments).has(deployments, deployment("a", "replicas: 5"))
	w.schemas[deployments] = described(t, deployments)
	if planned := w.plan(w.answer(deployment("a", "replicas: 5, nonsense: 1"))); planned.Outdated != 0 || len(planned.Warnings) != 1 {
		t.Errorf("%d are outdated, and the warnings are %v", planned.Outdated, planned.Warnings)
	}
}

// Nobody may delete an outdated child for a long time.
func TestAnOutdatedChildIsComparedOnce(t *testing.T) {
	quiet := func(answered string) int {
		w := newWorld(t, web, configMaps).has(configMaps, childA)
		snapshot, answer := w.snapshot(), w.answer(answered)
		return alloctest.Least(func() {
			if _, err := Composite(snapshot, answer, w.strategies, &w.upToDate); err != nil {
				t.Fatal(err)
			}
		})
	}
	if equal, outdated := quiet(childA), quiet(childAChanged); outdated != equal {
		t.Errorf("an outdated child takes %d allocations, an equal one %d", outdated, equal)
	}
}

func TestPruneForgetsOutdatedChildren(t *testing.T) {
	w := newWorld(t, web, configMaps)
	for i := range 50 {
		w.children[configMaps] = nil
		w.has(configMaps, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, labels: {app: shop}}}`, i))
		planned := w.plan(w.answer(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, labels: {app: shop}}, data: {a: b}}`, i)))
		if planned.Outdated != 1 {
			t.Fatalf("%d are outdated", planned.Outdated)
		}
		w.upToDate.Prune(w.snapshot())
		if known := len(w.upToDate.outdated); known > 2 {
			t.Fatalf("after sync %d, %d are remembered", i, known)
		}
	}
}

func TestWarningsOfOutdatedChildren(t *testing.T) {
	const childB = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: one}}`
	const childBChanged = `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: shop}}, data: {key: two}}`
	const field = "spec.childResources[3].updateStrategy.method"
	notSet := func(objects, path string) []pipeline.Warning {
		return []pipeline.Warning{{Reason: pipeline.ChildOutdated, About: "ConfigMap " + path, Message: objects + ": it is not as the hook wants it, first at " + path +
			", and is left as it is, because " + field + " is not set: set it to InPlace or Recreate, or to OnDelete if the child is to stay"}}
	}
	tests := map[string]struct {
		method            Method
		observed, desired []string
		want              []pipeline.Warning
	}{
		"a child as it is wanted":              {"", []string{childB}, []string{childB}, nil},
		"one that differs":                     {"", []string{childA, childB}, []string{childA, childBChanged}, notSet("ConfigMap default/b", "data.key")},
		"two that differ":                      {"", []string{childA, childB}, []string{childAChanged, childBChanged}, notSet("ConfigMap default/a and 1 more", "data.key")},
		"one that differs and is to be so":     {OnDelete, []string{childB}, []string{childBChanged}, []pipeline.Warning{{Reason: pipeline.ChildOutdated, Chosen: true, About: "ConfigMap data.key", Message: "ConfigMap default/b: it is not as the hook wants it, first at data.key, and is left as it is, because " + field + " is OnDelete: it is created again once somebody deletes it"}}},
		"one that differs and is made as such": {InPlace, []string{childB}, []string{childBChanged}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps).has(configMaps, test.observed...)
			w.strategies[configMaps.GroupKind()] = Strategy{Method: test.method, Field: field}
			for range 2 {
				if diff := cmp.Diff(test.want, w.plan(w.answer(test.desired...)).Warnings); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// The cluster fills in, changes and drops fields when a child is made. After a restart, nobody knows any
// more that the difference comes from this.
func TestAChildThatTheHostHasChangedIsNotOutdated(t *testing.T) {
	const wanted = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {kept: one, changed: two, dropped: three}}`
	const stored = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {kept: one, changed: "2", added: four}}`
	const wantedNow = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {kept: other, changed: two, dropped: three}}`
	w := newWorld(t, web, configMaps)
	w.children[configMaps] = append(w.children[configMaps], w.applied(configMaps, stored, wanted))
	if planned := w.plan(w.answer(wanted)); planned.Outdated != 0 {
		t.Errorf("%d are outdated, with %v", planned.Outdated, planned.Warnings)
	}
	if planned := w.plan(w.answer(wantedNow)); planned.Outdated != 1 {
		t.Errorf("of an answer that has changed, %d are outdated", planned.Outdated)
	}
}
