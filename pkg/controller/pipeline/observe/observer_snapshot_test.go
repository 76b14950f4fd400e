// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

const (
	ours     = "metacontroller.io/compositecontroller-webs"
	selected = "labels: {run: here}"
	deleted  = "deletionTimestamp: 2026-01-02T03:04:05Z"
)

// finalizers is the field of a parent's metadata.
func finalizers(names ...string) string { return "finalizers: [" + strings.Join(names, ", ") + "]" }

// Every row says what a parent is like, and what comes of it: the write of the finalizer
// before the hook is asked, the hook, and then what the hook's answer leads to. The
// answer always wants one child, in place of the one there is, and a status.
func TestWhichHookIsCalledAndWhatComesOfItsAnswer(t *testing.T) {
	all := []string{"delete old", "create new", "status shop"}
	tests := map[string]struct {
		parent []string // fields of its metadata
		// without a finalize hook; the answer says that it has finalized.
		noHook, finalized bool
		// the controller is limited to other namespaces.
		outside bool

		hold  string // of the parent's finalizers after it, "" for no write
		hook  string
		steps []string
	}{
		"alive and selected, without a finalize hook": {
			parent: []string{selected}, noHook: true,
			hook: "sync", steps: all,
		},
		"alive and selected, not yet held": {
			parent: []string{selected},
			hold:   `["` + ours + `"]`, hook: "sync", steps: all,
		},
		"alive and selected, not yet held by us but by others": {
			parent: []string{selected, finalizers("example.com/a")},
			hold:   `["example.com/a","` + ours + `"]`, hook: "sync", steps: all,
		},
		"alive, selected and held": {
			parent: []string{selected, finalizers(ours)},
			hook:   "sync", steps: all,
		},
		"alive, selected and held: a sync hook that says finalized is not heeded": {
			parent: []string{selected, finalizers(ours)}, finalized: true,
			hook: "sync", steps: all,
		},
		"alive, selected and held, and the finalize hook is gone": {
			parent: []string{selected, finalizers("example.com/a", ours)}, noHook: true,
			hold: `["example.com/a"]`, hook: "sync", steps: all,
		},
		"alive and never selected": {
			hook: "none",
		},
		"alive and no longer selected, without a finalize hook": {
			noHook: true,
			hook:   "none",
		},
		"alive, no longer selected, held, and the finalize hook is gone": {
			parent: []string{finalizers(ours)}, noHook: true,
			hold: `[]`, hook: "none",
		},
		"alive and no longer selected, but held": {
			parent: []string{finalizers(ours)},
			hook:   "finalize", steps: all,
		},
		"alive and no longer selected, but held, and finalized": {
			parent: []string{finalizers(ours)}, finalized: true,
			hook: "finalize", steps: append(all[:3:3], "finalizer shop []"),
		},
		"being deleted and held": {
			parent: []string{selected, deleted, finalizers(ours)},
			hook:   "finalize", steps: all,
		},
		"being deleted and held, and finalized": {
			parent: []string{selected, deleted, finalizers("example.com/a", ours)}, finalized: true,
			hook: "finalize", steps: []string{`finalizer shop ["example.com/a"]`},
		},
		"being deleted and held, no longer selected": {
			parent: []string{deleted, finalizers(ours)},
			hook:   "finalize", steps: all,
		},
		"being deleted and held, its children for the garbage collector to delete": {
			parent: []string{selected, deleted, finalizers(ours, "foregroundDeletion")},
			hook:   "finalize", steps: []string{"status shop"},
		},
		"being deleted and held, its children for the garbage collector to orphan": {
			parent: []string{selected, deleted, finalizers(ours, "orphan")},
			hook:   "finalize", steps: []string{"status shop"},
		},
		"being deleted and held, its children for the garbage collector, and finalized": {
			parent: []string{selected, deleted, finalizers(ours, "orphan")}, finalized: true,
			hook: "finalize", steps: []string{`finalizer shop ["orphan"]`},
		},
		"being deleted, no longer held by us but by others": {
			parent: []string{selected, deleted, finalizers("example.com/a")},
			hook:   "finalize", steps: []string{"status shop"},
		},
		"being deleted, no longer held by us but by others, and finalized": {
			parent: []string{selected, deleted, finalizers("example.com/a")}, finalized: true,
			hook: "finalize", steps: []string{"status shop"},
		},
		"being deleted, held by others, without a finalize hook": {
			parent: []string{selected, deleted, finalizers("example.com/a")}, noHook: true,
			hook: "sync", steps: []string{"status shop"},
		},
		"being deleted, held by us and others, and the finalize hook is gone": {
			parent: []string{selected, deleted, finalizers("example.com/a", ours)}, noHook: true,
			hold: `["example.com/a"]`, hook: "sync", steps: []string{"status shop"},
		},
		"alive and selected, in another namespace": {
			parent: []string{selected}, outside: true,
			hook: "none",
		},
		"alive, selected and held, in another namespace": {
			parent: []string{selected, finalizers("example.com/a", ours)}, outside: true,
			hold: `["example.com/a"]`, hook: "none",
		},
		"alive, selected and held, in another namespace, and the finalize hook is gone": {
			parent: []string{selected, finalizers(ours)}, outside: true, noHook: true,
			hold: `[]`, hook: "none",
		},
		"being deleted and held, in another namespace": {
			parent: []string{selected, deleted, finalizers(ours)}, outside: true,
			hold: `[]`, hook: "none",
		},
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) {
			metadata := append([]string{"name: shop", "namespace: default", "uid: u-shop"}, test.parent...)
			observer, _ := observing(t, webs, NewLabelClaims(true),
				`{apiVersion: ctl.example/v1, kind: Web, metadata: {`+strings.Join(metadata, ", ")+`}}`,
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: old, namespace: default, uid: u-old, `+
					`labels: {controller-uid: u-shop}, `+
					`annotations: {metacontroller.k8s.io/last-applied-configuration: "{\"kind\":\"ConfigMap\"}"}, `+ofShop+`}}`)
			observer.Targets[0].Rules[0].Labels = labels.SelectorFromSet(labels.Set{"run": "here"})
			observer.Finalizer, observer.Finalizes = ours, !test.noHook
			if test.outside {
				observer.Namespaces = object.NewNamespaces([]string{"shop", "blog"})
			}

			snapshot := observer.Parent(name("default", "shop"))
			if snapshot != nil {
				snapshot = held(t, observer, snapshot, test.hold)
			}
			if snapshot == nil {
				if test.hook != "none" {
					t.Errorf("no hook is called, want %s", test.hook)
				}
				return
			}
			if hook := map[bool]string{true: "finalize", false: "sync"}[snapshot.Finalizing]; hook != test.hook {
				t.Errorf("the hook is %s, want %s", hook, test.hook)
			}
			if err := observer.Claim(snapshot); err != nil {
				t.Fatal(err)
			}
			response := &pipeline.Response{
				Status: []byte(`{"done":true}`), Finalized: test.finalized,
				Children: []*object.Object{parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}`)},
			}
			planned, err := plan.Composite(snapshot, response, nil, &plan.UpToDateCache{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.steps, words(planned)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// held returns the snapshot after the write of the finalizer. The parent must then have the
// finalizers in want.
func held(t *testing.T, observer *Observer, snapshot *pipeline.Snapshot, want string) *pipeline.Snapshot {
	t.Helper()
	step, err := plan.FinalizerStep(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if step == nil {
		if want != "" {
			t.Errorf("the finalizers stay, want %s", want)
		}
		return snapshot
	}
	if got := string(object.Lookup(step.Body, "metadata", "finalizers")); got != want {
		t.Errorf("the finalizers become %s, want %s", got, want)
	}
	for _, field := range []string{"uid", "resourceVersion"} {
		if object.Lookup(step.Body, "metadata", field) == nil {
			t.Errorf("the write is not bound to the %s that was seen: %s", field, step.Body)
		}
	}
	stored, err := object.Parse(step.Body)
	if err != nil {
		t.Fatal(err)
	}
	return observer.ParentAs(stored)
}

// words are the steps of a plan, "create new", those about finalizers with what is left.
func words(planned *pipeline.Plan) []string {
	var words []string
	for _, step := range planned.Steps {
		word := fmt.Sprintf("%s %s", step.Op, step.Name)
		if step.Op == pipeline.Finalizer {
			word += " " + string(object.Lookup(step.Body, "metadata", "finalizers"))
		}
		words = append(words, word)
	}
	return words
}
