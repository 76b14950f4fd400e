// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A revision that was restored may name children that have moved since.
func TestEachChildCountsOnce(t *testing.T) {
	type all = []v1alpha1.ControllerRevision
	naming := func(isCurrent bool, names ...string) (of v1alpha1.ControllerRevision) {
		if isCurrent {
			of.Annotations = map[string]string{v1alpha1.CurrentRevisionAnnotation: "true"}
		}
		of.Children = []v1alpha1.ControllerRevisionChildren{{Kind: "Pod", Names: names}}
		return of
	}
	for name, test := range map[string]struct {
		revisions  all
		moved, all int
	}{
		"none":                            {},
		"one":                             {all{naming(true, "a", "b")}, 2, 2},
		"two":                             {all{naming(true, "a"), naming(false, "b", "c")}, 1, 3},
		"two that name the same":          {all{naming(true, "a", "b", "c"), naming(false, "b", "c")}, 3, 3},
		"three, and none of them current": {all{naming(false, "a"), naming(false, "a", "b"), naming(false)}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if moved, all := countChildren(test.revisions); moved != test.moved || all != test.all {
				t.Errorf("%d of %d children have moved, want %d of %d", moved, all, test.moved, test.all)
			}
		})
	}
}

// The hook may fail with the version of the parent, so that no revision records it.
func TestWhichRevisionUndoGoesBackTo(t *testing.T) {
	type all = []v1alpha1.ControllerRevision
	recording := func(name, image string, isCurrent bool) (of v1alpha1.ControllerRevision) {
		of.Name, of.ParentPatch.Raw = name, []byte(`{"spec":{"image":"`+image+`"}}`)
		of.Annotations = map[string]string{"metacontroller.k8s.io/field-paths": `["spec.image"]`}
		if isCurrent {
			of.Annotations[v1alpha1.CurrentRevisionAnnotation] = "true"
		}
		return of
	}
	ofMetacontroller := recording("r1", "1", false)
	ofMetacontroller.Annotations = nil
	for name, test := range map[string]struct {
		revisions all
		patch     string
		isBehind  bool
	}{
		"no revision":        {},
		"the update is done": {revisions: all{recording("r3", "3", true)}},
		"the update is in progress": {
			revisions: all{recording("r3", "3", true), recording("r2", "2", false)},
			patch:     `{"spec":{"image":"2"}}`,
		},
		"no revision records the parent yet": {
			revisions: all{recording("r2", "2", true)},
			patch:     `{"spec":{"image":"2"}}`, isBehind: true,
		},
		"not yet, and an earlier update is in progress": {
			revisions: all{recording("r2", "2", true), recording("r1", "1", false)},
			patch:     `{"spec":{"image":"2"}}`, isBehind: true,
		},
		"an undo that is not reconciled yet": {
			revisions: all{recording("r4", "4", true), recording("r3", "3", false)},
			patch:     `{"spec":{"image":"4"}}`,
		},
		"a revision that does not record its paths": {
			revisions: all{recording("r3", "3", true), ofMetacontroller},
			patch:     `{"spec":{"image":"1"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "x/v1", "kind": "Rack", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"image": "3", "replicas": int64(2)},
			}}
			to, patch, err := (&rolloutUndo{}).choose(parent, test.revisions)
			if string(patch) != test.patch || (err == nil) != (test.patch != "") {
				t.Errorf("it goes back to %v with %s, and %v", to, patch, err)
			}
			if behind, err := isBehind(parent, test.revisions); err != nil || behind != test.isBehind {
				t.Errorf("that no revision records the parent is %v, and %v", behind, err)
			}
		})
	}
}
