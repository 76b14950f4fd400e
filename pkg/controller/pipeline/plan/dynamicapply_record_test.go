// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

const (
	childWithB    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {a: "1", b: "2"}}`
	childWithoutB = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {a: "1"}}`
)

// sync takes one step with the only child, and returns what it was.
func (w *world) sync(desired string) pipeline.Op {
	w.t.Helper()
	planned := w.plan(w.answer(desired))
	var op pipeline.Op
	for _, step := range planned.Steps {
		if step.Type == configMaps {
			op = step.Op
		}
		if step.Op == pipeline.Adopt {
			break
		}
	}
	w.carryOut(planned)
	return op
}

// A child loses a field that the hook wanted earlier and wants no longer. That another client had set
// the field to the same value before makes no difference.
func TestAFieldThatWasSharedIsRemoved(t *testing.T) {
	orphan := strings.Replace(childWithB, "{name: a,", `{name: a, namespace: default, uid: uid-of-a, resourceVersion: "7",`, 1)
	type sync struct {
		desired string
		want    pipeline.Op
	}
	tests := map[string]struct {
		has   func(*world) *world
		syncs map[Method][]sync
	}{
		"of a child that was adopted": {
			func(w *world) *world {
				w.children[configMaps] = []*object.Object{w.storedBy("others", decode(t, parseYAML(t, orphan)), "uid-of-a")}
				return w
			},
			map[Method][]sync{
				Recreate: {{childWithB, pipeline.Adopt}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Recreate}, {childWithoutB, pipeline.Create}, {childWithoutB, pipeline.Keep}},
				InPlace:  {{childWithB, pipeline.Adopt}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Update}, {childWithoutB, pipeline.Keep}},
			},
		},
		"that somebody had added": {
			func(w *world) *world {
				w.children[configMaps] = []*object.Object{w.applied(configMaps, childWithB, childWithoutB)}
				return w
			},
			map[Method][]sync{
				Recreate: {{childWithoutB, pipeline.Keep}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Recreate}, {childWithoutB, pipeline.Create}, {childWithoutB, pipeline.Keep}},
				InPlace:  {{childWithoutB, pipeline.Keep}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Update}, {childWithoutB, pipeline.Keep}},
			},
		},
	}
	for name, test := range tests {
		for method, syncs := range test.syncs {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := test.has(newWorld(t, web, configMaps).method(method))
				for i, sync := range syncs {
					if got := w.sync(sync.desired); got != sync.want {
						t.Fatalf("sync %d takes the step %s, want %s", i+1, got, sync.want)
					}
				}
				if diff := cmp.Diff(map[string]any{"a": "1"}, decode(t, w.child(configMaps, "a"))["data"]); diff != "" {
					t.Errorf("data (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// An update of the record alone sends the child as it is, in the version that was compared.
func TestAnUpdateOfTheRecordChangesNothingElse(t *testing.T) {
	w := newWorld(t, web, configMaps).method(Recreate)
	w.children[configMaps] = []*object.Object{w.applied(configMaps, childWithB, childWithoutB)}
	observed := w.child(configMaps, "a")
	want := decode(t, observed)
	if err := setLastApplied(want, decode(t, parseYAML(t, strings.Replace(childWithB, "{name: a", "{name: a, namespace: default", 1)))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, w.content(stepFor(t, w.plan(w.answer(childWithB)), "a").Body)); diff != "" {
		t.Errorf("the update (-want +got):\n%s", diff)
	}
}

// A rollout must not take a child for moved of which a field of the earlier revision is left.
func TestAChildWhoseRecordMustFollowIsNotUpToDate(t *testing.T) {
	tests := map[string]struct {
		last, desired string
		want          bool
	}{
		"no record, as wanted":              {"", childWithB, false},
		"no record, more than wanted":       {"", childWithoutB, false},
		"recorded with less, as wanted":     {childWithoutB, childWithB, false},
		"recorded, as wanted":               {childWithB, childWithB, true},
		"recorded, more than wanted":        {childWithB, childWithoutB, false},
		"recorded, with more from others":   {childWithoutB, childWithoutB, true},
		"recorded, something else is meant": {childWithB, childA, false},
	}
	for name, test := range tests {
		for _, method := range []Method{Recreate, InPlace} {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := newWorld(t, web, configMaps).method(method)
				child := w.applied(configMaps, childWithB, childWithB)
				if test.last != "" {
					child = w.applied(configMaps, childWithB, test.last)
				} else {
					content := decode(t, child)
					delete(content["metadata"].(map[string]any), "annotations")
					child = w.stored(content, types.UID("uid-of-a"))
				}
				w.children[configMaps] = []*object.Object{child}
				upToDate := UpToDate(w.snapshot(), w.strategies, &w.upToDate)
				for range 2 { // the second time it may be known
					if got, err := upToDate(child, parseYAML(t, test.desired)); got != test.want || err != nil {
						t.Errorf("up to date is %v, want %v, error %v", got, test.want, err)
					}
				}
			})
		}
	}
}
