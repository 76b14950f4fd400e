// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

type record = v1alpha1.ControllerRevision

func orphaned(of *record)     { of.OwnerReferences = nil }
func unlabelled(of *record)   { of.Labels = nil }
func renamed(of *record)      { of.Name = "other" }
func dying(of *record)        { of.DeletionTimestamp = &metav1.Time{} }
func ofOthers(of *record)     { of.OwnerReferences[0].UID = "other-uid" }
func uncontrolled(of *record) { of.OwnerReferences[0].Controller = nil }
func otherType(of *record)    { of.Labels[resourceLabel] = "others" }
func untyped(of *record)      { delete(of.Labels, apiGroupLabel) }
func unselected(of *record)   { of.Labels["app"] = "store" }
func broken(of *record)       { of.ParentPatch.Raw = []byte("[]") }

func TestWhichRevisionsAreTheParents(t *testing.T) {
	tests := map[string]struct {
		is          []func(*record)
		parentDying bool
		want, adopt bool
	}{
		"one that it controls":                                             {want: true},
		"one that it controls, of a parent being deleted":                  {parentDying: true, want: true},
		"one that another parent controls":                                 {is: []func(*record){ofOthers}},
		"an orphan with the labels":                                        {is: []func(*record){orphaned, renamed}, want: true, adopt: true},
		"one that it owns but does not control":                            {is: []func(*record){uncontrolled}, want: true, adopt: true},
		"an orphan of another type of parent":                              {is: []func(*record){orphaned, renamed, otherType}},
		"an orphan without the type of its parent":                         {is: []func(*record){orphaned, renamed, untyped}},
		"an orphan that the selector does not match":                       {is: []func(*record){orphaned, renamed, unselected}},
		"an orphan whose name only a revision of the parent can have":      {is: []func(*record){orphaned, unlabelled}, want: true, adopt: true},
		"an orphan that cannot be read and has no labels":                  {is: []func(*record){orphaned, unlabelled, broken}},
		"an orphan that is being deleted":                                  {is: []func(*record){orphaned, dying}},
		"an orphan with the labels, of a parent being deleted":             {is: []func(*record){orphaned, renamed}, parentDying: true},
		"an orphan with the name, of a parent being deleted":               {is: []func(*record){orphaned, unlabelled}, parentDying: true, want: true, adopt: true},
		"a dying orphan with the name, of a parent being deleted":          {is: []func(*record){orphaned, dying}, parentDying: true, want: true, adopt: true},
		"one that it controls and that has lost its labels stays (Q5)":     {is: []func(*record){unlabelled, renamed}, want: true},
		"one that it controls and the selector does not match stays (Q5)":  {is: []func(*record){unselected, renamed}, want: true},
		"one of the original that the original has let go comes back (Q5)": {is: []func(*record){orphaned, unselected}, want: true, adopt: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			patch := []byte(`{"spec":{"version":"v1"}}`)
			snapshot := &pipeline.Snapshot{
				ParentType: webs, Selector: labels.SelectorFromSet(labels.Set{"app": "shop"}),
				Parent: parse(t, `{apiVersion: ctl.example/v1, kind: Web, metadata: {name: shop, namespace: default, uid: parent-uid}, spec: {version: v1}}`),
			}
			stored := &record{
				ObjectMeta: metav1.ObjectMeta{
					Name: Name(webs, "parent-uid", patch), Namespace: "default", UID: "uid-of-the-revision",
					Labels: Labels(snapshot), OwnerReferences: []metav1.OwnerReference{OwnerReference(snapshot)},
				},
				ParentPatch: runtime.RawExtension{Raw: patch},
			}
			for _, change := range test.is {
				change(stored)
			}
			if test.parentDying {
				snapshot.Parent.DeletionTimestamp = &metav1.Time{}
			}
			owned := OwnedBy(snapshot, []*Stored{NewStored(stored)})
			if got := len(owned) == 1; got != test.want {
				t.Fatalf("it is the parent's: %v", got)
			}
			if test.want && owned[0].IsOrphan() != test.adopt {
				t.Errorf("it is an orphan: %v", owned[0].IsOrphan())
			}
		})
	}
}
