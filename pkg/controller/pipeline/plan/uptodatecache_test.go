// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestUpToDateCacheHasOnlyThePairThatWasPut(t *testing.T) {
	var upToDate UpToDateCache
	upToDate.Put("a", 1, 2)
	tests := map[string]struct {
		uid               types.UID
		desired, observed uint64
		want              bool
	}{
		"the pair":                  {"a", 1, 2, true},
		"another desired content":   {"a", 3, 2, false},
		"another observed content":  {"a", 1, 3, false},
		"the two exchanged":         {"a", 2, 1, false},
		"another object":            {"b", 1, 2, false},
		"another object with zeros": {"b", 0, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := upToDate.Is(test.uid, test.desired, test.observed); got != test.want {
				t.Errorf("up to date is %v, want %v", got, test.want)
			}
		})
	}
	upToDate.Put("a", 5, 6)
	if upToDate.Is("a", 1, 2) || !upToDate.Is("a", 5, 6) {
		t.Error("of two pairs of an object the last must count")
	}
}

func TestWhatWasWrittenIsUpToDate(t *testing.T) {
	result := parseYAML(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u}, status: {ready: true}}`)
	tests := map[string]struct {
		outcome pipeline.Outcome
		want    bool
	}{
		"a child that was created":               {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Create, Desired: 7}, Result: result}, true},
		"a child that was updated":               {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Update, Desired: 7}, Result: result}, true},
		"not a child that was adopted":           {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Adopt, Desired: 7}, Result: result}, false},
		"not a child that was released":          {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Release, Desired: 7}, Result: result}, false},
		"not a child that could not be written":  {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Update, Desired: 7}, Err: errors.New("no")}, false},
		"not a child whose name is taken":        {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Create, Desired: 7}, NameConflict: true}, false},
		"not by the hash of a status of a child": {pipeline.Outcome{Step: pipeline.Step{Op: pipeline.Status, Desired: 7}, Result: result}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var upToDate UpToDateCache
			upToDate.Wrote([]pipeline.Outcome{test.outcome})
			if got := upToDate.Is("u", 7, result.Hash); got != test.want {
				t.Errorf("up to date is %v, want %v", got, test.want)
			}
		})
	}
}

func TestPruneForgetsWhatTheSnapshotDoesNotShow(t *testing.T) {
	w := newWorld(t, web, configMaps, pods).has(configMaps, childA).has(pods, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: shop}}}`)
	for _, uid := range []types.UID{"parent-uid", "uid-of-a", "uid-of-p", "gone-1", "gone-2"} {
		w.upToDate.Put(uid, 1, 2)
	}
	w.upToDate.Prune(w.snapshot())
	want := []types.UID{"parent-uid", "uid-of-a", "uid-of-p"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(w.upToDate.objects))); diff != "" {
		t.Errorf("remembered (-want +got):\n%s", diff)
	}
	for _, uid := range want {
		if !w.upToDate.Is(uid, 1, 2) {
			t.Errorf("what was known of %s is lost", uid)
		}
	}
}

// However long a parent lives and however many children come and go, the
// cache has entries for existing children only, and for those of the last sync.
func TestWhatIsRememberedDoesNotGrow(t *testing.T) {
	w := newWorld(t, web, configMaps).method(InPlace)
	for i := range 50 {
		w.carryOut(w.plan(w.answer(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d, labels: {app: shop}}}`, i))))
		if known := len(w.upToDate.objects); known > 4 {
			t.Fatalf("after sync %d there are %d objects remembered", i, known)
		}
	}
}

// What is up to date is not worked out again, and a difference that no hash shows stays.
func TestAChildThatIsUpToDateIsNotComparedAgain(t *testing.T) {
	w := newWorld(t, web, configMaps).method(InPlace).has(configMaps, childA)
	answer := w.answer(childAChanged)
	w.upToDate.Put("uid-of-a", answer.Children[0].Hash, w.child(configMaps, "a").Hash)
	step := stepFor(t, w.plan(answer), "a")
	if step.Op != pipeline.Keep || step.Why != "it is in its desired state" {
		t.Errorf("%s because %q", step.Op, step.Why)
	}
}

func TestAChildFoundEqualIsUpToDate(t *testing.T) {
	for _, method := range []Method{InPlace, Recreate} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(method).has(configMaps, childA)
			answer := w.answer(childA)
			if got := writes(w.plan(answer)); len(got) > 0 {
				t.Fatalf("writes %v", got)
			}
			if !w.upToDate.Is("uid-of-a", answer.Children[0].Hash, w.child(configMaps, "a").Hash) {
				t.Error("it is not remembered")
			}
		})
	}
}

// The API server may store a child otherwise than it was sent. Sending it again, or
// deleting it, would never end.
func TestAChildThatTheHostStoresOtherwiseIsWrittenOnce(t *testing.T) {
	for _, method := range []Method{InPlace, Recreate} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(method)
			w.defaults = func(content map[string]any) { content["data"] = map[string]any{"key": "normalized"} }
			w.carryOut(w.plan(w.answer(childA)))
			if got := writes(w.plan(w.answer(childA))); len(got) > 0 {
				t.Errorf("the second sync writes %v", got)
			}
			if got := writes(w.plan(w.answer(childAChanged))); len(got) != 1 {
				t.Errorf("a sync with another answer writes %v", got)
			}
			w.defaults = func(map[string]any) {}
			for _, change := range []struct {
				key    string
				writes int
			}{{"theirs", 0}, {"key", 1}} {
				changed := decode(t, w.child(configMaps, "a"))
				changed["data"].(map[string]any)[change.key] = "other"
				w.children[configMaps] = []*object.Object{w.storedBy("others", changed, w.child(configMaps, "a").UID)}
				if got := writes(w.plan(w.answer(childA))); len(got) != change.writes {
					t.Errorf("a sync after somebody changed %s of the child writes %v", change.key, got)
				}
			}
		})
	}
}

// A sync that finds everything up to date decodes no child: what it costs does not depend on
// what is in them.
func TestAQuietSyncDecodesNothing(t *testing.T) {
	for _, method := range []Method{InPlace, Recreate} {
		t.Run(string(method), func(t *testing.T) {
			allocations := func(keys int) int {
				var data strings.Builder
				for i := range keys {
					fmt.Fprintf(&data, "k%d: v, ", i)
				}
				child := fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {%s}}`, data.String())
				w := newWorld(t, web, configMaps).method(method).has(configMaps, child)
				snapshot, answer := w.snapshot(), w.answer(child)
				plan := func() {
					if planned, err := Composite(snapshot, answer, w.strategies, &w.upToDate); err != nil || len(writes(planned)) > 0 {
						t.Fatal(planned, err)
					}
				}
				plan()
				return alloctest.Least(plan)
			}
			if small, large := allocations(1), allocations(1000); large > small {
				t.Errorf("a child with 1000 keys takes %d allocations, one with a single key %d", large, small)
			}
		})
	}
}

// A hook may answer a status, then none, and then the same status again. In between the schema may
// have got the field that was unknown.
func TestWhatWasNotSearchedWithNewSchemasIsForgotten(t *testing.T) {
	const status, child = 1, 2
	var cache unknownFieldsCache
	unknown := []openapi.UnknownField{{Path: "status.a"}}
	cache.status = status
	cache.put(status, 1, unknown)
	cache.prune(1, nil)
	if _, current := cache.get(status, 1); !current {
		t.Error("with the same schemas it is searched again")
	}

	cache.put(child, 2, nil)
	cache.prune(2, nil)
	if _, current := cache.get(status, 2); current {
		t.Error("what was found with the former schemas counts as found with the new ones")
	}
	if _, current := cache.get(child, 2); !current {
		t.Error("what was searched with the new schemas is searched again")
	}
}
