// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

func ops(writes []revisions.Write) []string {
	var texts []string
	for _, write := range writes {
		texts = append(texts, string(write.Op)+" "+write.Revision.Name)
	}
	return texts
}

func TestTheLatestRevisionIsWrittenFirstAndWhatNothingUsesGoesLast(t *testing.T) {
	w := newWorld(t, "v3", "Pod a", "Pod b", "Pod c")
	w.has("Pod a v1", "Pod b v2", "Pod c v1")
	w.remembers("v1: Pod a, Pod c", "v2: Pod b")
	want := []string{"create " + nameOfV("v3"), "update " + nameOfV("v1")}
	if diff := cmp.Diff(want, ops(w.decide().Writes)); diff != "" {
		t.Errorf("writes differ (-want +got):\n%s", diff)
	}
	w.stored[0].Children = w.stored[0].Children[:1]
	w.parent("v3", "Pod a", "Pod b")
	want = []string{"create " + nameOfV("v3"), "delete " + nameOfV("v1")}
	if diff := cmp.Diff(want, ops(w.decide().Writes)); diff != "" {
		t.Errorf("writes differ (-want +got):\n%s", diff)
	}
}

func TestANewRevision(t *testing.T) {
	w := newWorld(t, "v1", "Pod b", "Job x", "Pod a")
	w.rules.Kinds = append(w.rules.Kinds, inPlace(jobs))
	want := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: nameOfV("v1"),
			Labels:      map[string]string{"app": "shop", "metacontroller.k8s.io/apiGroup": "ctl.example", "metacontroller.k8s.io/resource": "webs"},
			Annotations: map[string]string{"metacontroller.k8s.io/field-paths": `["spec.version"]`, "metacontroller.k8s.io/current": "true"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "ctl.example/v1", Kind: "Web", Name: "shop", UID: "parent-uid",
				Controller: ptr.To(true), // it does not block the deletion of the parent
			}},
		},
		ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{"version":"v1"}}`)},
		Children:    []v1alpha1.ControllerRevisionChildren{{Kind: "Pod", Names: []string{"a", "b"}}, {APIGroup: "batch", Kind: "Job", Names: []string{"x"}}},
	}
	if diff := cmp.Diff([]revisions.Write{{Op: pipeline.Create, Revision: want}}, w.decide().Writes); diff != "" {
		t.Errorf("writes differ (-want +got):\n%s", diff)
	}
}

func TestARevisionOfTheOriginalIsTakenOverAsItIs(t *testing.T) {
	w := newWorld(t, "v1", "Pod a", "Pod b")
	w.has("Pod a v1", "Pod b v1")
	w.remembers("v1: Pod a")
	w.stored[0].Annotations = nil
	w.stored[0].ParentPatch.Raw = []byte(` {"spec": {"version": "v1"}} `)
	w.stored[0].Children = []v1alpha1.ControllerRevisionChildren{{Kind: "Pod", Names: []string{"b", "a"}}, {Kind: "Pod", Names: []string{}}}
	before := w.stored[0].DeepCopy()
	writes := w.decide().Writes
	want := before.DeepCopy()
	want.Annotations = map[string]string{"metacontroller.k8s.io/field-paths": `["spec.version"]`, v1alpha1.CurrentRevisionAnnotation: "true"}
	if diff := cmp.Diff([]revisions.Write{{Op: pipeline.Update, Revision: want}}, writes); diff != "" {
		t.Errorf("writes differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, w.stored[0]); diff != "" {
		t.Errorf("what is stored was changed:\n%s", diff)
	}
}

// Only a write for another reason changes the reference.
func TestARevisionThatIsWrittenNoLongerBlocksTheDeletionOfTheParent(t *testing.T) {
	w := newWorld(t, "v2", "Pod a", "Pod b")
	w.has("Pod a v1", "Pod b v1")
	w.remembers("v1: Pod a, Pod b")
	w.stored[0].OwnerReferences[0].BlockOwnerDeletion = ptr.To(true)
	w.write(w.decide().Writes)
	for _, stored := range w.stored {
		if of := stored.OwnerReferences; len(of) != 1 || of[0].BlockOwnerDeletion != nil {
			t.Errorf("the owners of %s are %+v", stored.Name, of)
		}
	}
	w = newWorld(t, "v1", "Pod a")
	w.has("Pod a v1")
	w.remembers("v1: Pod a")
	w.stored[0].OwnerReferences[0].BlockOwnerDeletion = ptr.To(true)
	if writes := w.decide().Writes; len(writes) > 0 {
		t.Errorf("writes are %+v", writes)
	}
}

func TestOfTwoRevisionsThatRememberTheSameOneStays(t *testing.T) {
	for name, version := range map[string]string{"the latest": "v2", "an older one": "v3"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, version, "Pod a", "Pod b", "Pod c")
			w.has("Pod a v2", "Pod b v2", "Pod c v1")
			w.remembers("v1: Pod c", "v2: Pod a", "v2: Pod b")
			renamed(w.stored[2])
			w.rules.Kinds[0].Partition = 9
			w.write(w.decide().Writes)
			i := slices.Index(w.remembered(), "v2: Pod a, Pod b")
			if i < 0 {
				t.Errorf("there are %v", w.remembered())
			}
			if slices.ContainsFunc(w.stored, func(of *record) bool { return of.Name == "other" }) != (version == "v3") {
				// Of the older ones either may stay; the newest does, and of these the first by name.
				t.Errorf("there are %v", w.remembered())
			}
		})
	}
}

func TestARevisionWithTheLatestsNameIsMendedIfItSaysSomethingElse(t *testing.T) {
	w := newWorld(t, "v1", "Pod a")
	w.remembers("v1: Pod a")
	w.stored[0].ParentPatch.Raw = []byte(`{"spec":{"version":"v0"}}`)
	w.write(w.decide().Writes)
	if diff := cmp.Diff([]string{"v1: Pod a"}, w.remembered()); diff != "" {
		t.Errorf("revisions differ (-want +got):\n%s", diff)
	}
}

func TestARevisionThatCannotBeReadIsAnError(t *testing.T) {
	w := newWorld(t, "v2", "Pod a")
	w.remembers("v1: Pod a")
	w.stored[0].ParentPatch.Raw = []byte(`[]`)
	_, err := Open(&w.rules, &w.snapshot, records(w.stored), &w.cache)
	wantError(t, err, "parentPatch of ControllerRevision default/"+nameOfV("v1"))
	wantError(t, err, "correct the patch")
}

func TestTheHooksAreAskedAboutTheParentItselfIfThereIsNoRollout(t *testing.T) {
	w := newWorld(t, "v1", "Pod a")
	w.remembers("v1: Pod a")
	var asked []*object.Object
	for _, revision := range w.open().Revisions {
		asked = append(asked, revision.Parent)
	}
	if len(asked) != 1 || asked[0] != w.snapshot.Parent {
		t.Errorf("they are asked about %v", asked)
	}
}

// People see in a table which revision the children move to.
func TestOnlyTheLatestRevisionIsCurrent(t *testing.T) {
	w := newWorld(t, "v1", "Pod a", "Pod b")
	w.remembers("v1: Pod a, Pod b")
	w.has("Pod a v1", "Pod b v1")
	w.setParent(`{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid}, spec: {version: v2, children: [Pod a, Pod b]}}`)
	w.write(w.decide().Writes)
	current := map[string]bool{}
	for _, record := range w.stored {
		_, current[record.Name] = record.Annotations[v1alpha1.CurrentRevisionAnnotation]
	}
	if want := map[string]bool{nameOfV("v1"): false, nameOfV("v2"): true}; !maps.Equal(current, want) {
		t.Errorf("current are %v, want %v", current, want)
	}
}

type record = v1alpha1.ControllerRevision

func orphaned(of *record) { of.OwnerReferences = nil }

func unlabelled(of *record) { of.Labels = nil }

func renamed(of *record) { of.Name = "other" }

func ofOthers(of *record) { of.OwnerReferences[0].UID = "other-uid" }

func uncontrolled(of *record) { of.OwnerReferences[0].Controller = nil }

func claimless(of *record) { of.Children = nil }

func unselected(of *record) { of.Labels["app"] = "store" }

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
