// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// roll syncs until nothing moves any more. After each sync all children are what was wanted
// of them, and healthy. It returns the messages of the conditions.
func (w *world) roll() []string {
	w.t.Helper()
	var all []string
	for range 20 {
		decision := w.decide()
		w.write(decision.Writes)
		all = append(all, decision.Updated.Message)
		for i := range w.snapshot.Children {
			w.snapshot.Children[i].Claimed = nil
		}
		for _, text := range wanted(decision.Response) {
			w.has(text)
		}
		if decision.Updated.Reason == onLatestRevision {
			return all
		}
	}
	w.t.Fatalf("the rollout comes to no end: %q", all)
	return nil
}

func TestQ2ARolloutGoesPastTheFirstChild(t *testing.T) {
	tests := map[string]struct{ parent, children string }{
		"of a namespaced parent": {
			parent:   `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid}, spec: {version: %s, children: [%s]}}`,
			children: "Pod a, Pod b, Pod c",
		},
		"of a cluster-scoped parent, with children in namespaces and outside": {
			parent:   `{apiVersion: ctl.example/v1, kind: Fleet, metadata: {name: shop, uid: parent-uid}, spec: {version: %s, children: [%s]}}`,
			children: "Pod n/a, Zone b, Pod m/a",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "v1")
			w.rules.Kinds = []Kind{recreated(pods), recreated(zones)}
			if w.setParent(fmt.Sprintf(test.parent, "v1", test.children)); w.snapshot.Parent.Kind == "Fleet" {
				w.snapshot.ParentType = fleets
			}
			w.roll()
			w.setParent(fmt.Sprintf(test.parent, "v2", test.children))
			messages := w.roll()
			children := apart(test.children, ", ")
			want := []string{"updating " + children[0], "updating " + children[1], "updating " + children[2]}
			if diff := cmp.Diff(want, messages[:3]); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
			if len(w.stored) != 1 {
				t.Errorf("there are %d revisions at the end", len(w.stored))
			}
			if got, want := w.stored[0].Namespace, w.rules.NamespaceOf(w.snapshot.Parent); got != want {
				t.Errorf("the revision is in namespace %q, want %q", got, want)
			}
		})
	}
}

func TestQ2bWhetherAChildIsUpToDateIsForItsEngineToSay(t *testing.T) {
	w := newWorld(t, "v2", "Pod a", "Pod b")
	w.has("Pod a v2", "Pod b v1")
	w.remembers("v1: Pod b", "v2: Pod a")
	opened := w.open()
	asked := map[string]bool{}
	engine := func(observed, desired *object.Object) (bool, error) {
		asked[observed.Name+" "+string(desired.Lookup("spec", "version"))] = true
		return isUpToDate(observed, desired)
	}
	decision, err := opened.Decide(w.ask(opened), engine, noon)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := decision.Updated.Message, "updating Pod b"; got != want {
		t.Errorf("the condition is %q, want %q", got, want)
	}
	if diff := cmp.Diff(map[string]bool{`a "v2"`: true, `b "v2"`: true, `b "v1"`: true}, asked); diff != "" {
		t.Errorf("the engine was asked (-want +got):\n%s", diff)
	}
	failed := errors.New("it cannot tell")
	if _, err := opened.Decide(w.ask(opened), func(_, _ *object.Object) (bool, error) { return false, failed }, noon); !errors.Is(err, failed) {
		t.Errorf("error is %v", err)
	}
}

func TestQ4NamesOfChildrenThatAreGoneAreDroppedFromTheLatestRevision(t *testing.T) {
	situation{
		version: "v2", lists: "Pod a, Pod b", has: "Pod a v2, Pod b v1", remembers: "v1: Pod b; v2: Pod a, Pod c, Pod d",
		condition:  "False RolloutProgressing: updating Pod b",
		wants:      "Pod a v2, Pod b v2",
		remembered: "v1:; v2: Pod a, Pod b",
	}.check(t)
}
