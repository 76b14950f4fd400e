// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

type record = v1alpha1.ControllerRevision

func orphaned(of *record)     { of.OwnerReferences = nil }
func unlabelled(of *record)   { of.Labels = nil }
func renamed(of *record)      { of.Name = "other" }
func ofOthers(of *record)     { of.OwnerReferences[0].UID = "other-uid" }
func uncontrolled(of *record) { of.OwnerReferences[0].Controller = nil }
func claimless(of *record)    { of.Children = nil }
func unselected(of *record)   { of.Labels["app"] = "store" }

func TestRevisionsOfTheParentAreAdoptedIfTheyAreOrphans(t *testing.T) {
	tests := map[string]struct {
		is          []func(*record)
		parentDying bool
		adopt       bool
	}{
		"one that it controls":                                             {},
		"one that it controls, of a parent being deleted":                  {parentDying: true},
		"an orphan with the name, of a parent being deleted":               {is: []func(*record){orphaned}, parentDying: true},
		"an orphan with other claims, of a parent being deleted":           {is: []func(*record){orphaned, claimless}, parentDying: true},
		"an orphan with the labels":                                        {is: []func(*record){orphaned, renamed}, adopt: true},
		"one that it owns but does not control":                            {is: []func(*record){uncontrolled}, adopt: true},
		"an orphan whose name only a revision of the parent can have":      {is: []func(*record){orphaned, unlabelled}, adopt: true},
		"one that it controls and that has lost its labels stays (Q5)":     {is: []func(*record){unlabelled, renamed}},
		"one that it controls and the selector does not match stays (Q5)":  {is: []func(*record){unselected, renamed}},
		"one of the original that the original has let go comes back (Q5)": {is: []func(*record){orphaned, unselected}, adopt: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "v1", "Pod a")
			w.remembers("v1: Pod a")
			w.has("Pod a v1")
			for _, change := range test.is {
				change(w.stored[0])
			}
			if test.parentDying {
				w.setParent(`{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid,
					deletionTimestamp: "2026-03-04T05:06:07Z"}, spec: {version: v1, children: [Pod a]}}`)
			}
			writes := w.decide().Writes
			switch {
			case !test.adopt && len(writes) > 0:
				t.Errorf("it is written: %v", writes)
			case test.adopt && (len(writes) != 1 || !writes[0].Adopts || !metav1.IsControlledBy(writes[0].Revision, w.snapshot.Parent)):
				t.Errorf("it is not adopted: %v", writes)
			case test.adopt && len(writes[0].Revision.OwnerReferences) != 1:
				t.Errorf("it has %d owners", len(writes[0].Revision.OwnerReferences))
			}
		})
	}
}

func TestAnOrphanThatNothingUsesGoes(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.remembers("v1: Pod b", "v2: Pod a")
	orphaned(w.stored[0])
	writes := w.decide().Writes
	if len(writes) != 1 || writes[0].Op != "delete" || !writes[0].Adopts || writes[0].Revision.Name != nameOfV("v1") {
		t.Errorf("the writes are %v", writes)
	}
}

// The user asked to orphan what the parent owns.
func TestAParentThatIsBeingDeletedLeavesOrphansAlone(t *testing.T) {
	const dying = `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid,
		deletionTimestamp: "2026-03-04T05:06:07Z"}, spec: {version: v2, children: [Pod a]}}`
	w := newWorld(t, "v2", "Pod a")
	w.remembers("v1: Pod b", "v2: Pod a")
	orphaned(w.stored[0])
	orphaned(w.stored[1])
	w.setParent(dying)
	if opened := w.open(); len(opened.Revisions) != 2 {
		t.Errorf("the versions are %v", opened.Revisions)
	}
	if writes := w.decide().Writes; len(writes) > 0 {
		t.Errorf("the writes are %v", writes)
	}
	if writes := Abandon(&w.snapshot, records(w.stored)); len(writes) > 0 {
		t.Errorf("of a controller that rolls nothing the writes are %v", writes)
	}
}

func TestAControllerThatRollsNothingLeavesNoRevisions(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.remembers("v1: Pod b", "v2: Pod a", "v3: Pod a")
	ofOthers(w.stored[2])
	w.write(Abandon(&w.snapshot, records(w.stored)))
	if len(w.stored) != 1 || w.stored[0].Name != nameOfV("v3") {
		t.Errorf("there is left %v", w.remembered())
	}
}

func TestAControllerThatRollsNothingLeavesThoseOfAnother(t *testing.T) {
	w := newWorld(t, "v2")
	w.remembers("v1: Pod b", "v2: Pod a", "v3") // the current one of a parent without children names none
	w.snapshot.Children = []pipeline.Group{{Type: files}}
	if writes := Abandon(&w.snapshot, records(w.stored)); len(writes) > 0 {
		t.Errorf("the writes are %v", writes)
	}
	w.snapshot.Children = []pipeline.Group{{Type: files}, {Type: pods}}
	if writes := Abandon(&w.snapshot, records(w.stored)); len(writes) != 2 {
		t.Errorf("of its own types the writes are %v", writes)
	}
}
