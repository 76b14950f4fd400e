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
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
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
	wantError(t, err, "correct it")
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
