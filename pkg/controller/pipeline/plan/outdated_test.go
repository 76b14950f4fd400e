// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/alloctest"
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
	if settled, outdated := quiet(childA), quiet(childAChanged); outdated != settled {
		t.Errorf("an outdated child takes %d allocations, a settled one %d", outdated, settled)
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
