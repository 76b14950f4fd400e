// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// own returns the revisions of the snapshot's parent, the newest first: those that it
// controls, and those without a controller that it may adopt.
//
// One that the parent controls is never let go because its labels do not match the
// selector. Metacontroller does that with its own revisions, and can then neither use nor
// make anew what it has let go.
func own(snapshot *pipeline.Snapshot, stored []*Record) []*Record {
	var owned []*Record
	for _, record := range stored {
		controller := metav1.GetControllerOfNoCopy(record)
		if controller != nil && controller.UID == snapshot.Parent.UID || controller == nil && mayAdopt(snapshot, record) {
			owned = append(owned, record)
		}
	}
	slices.SortFunc(owned, func(a, b *Record) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return owned
}

// mayAdopt tells whether a revision without a controller can become the parent's: it has the
// labels of one, or its name tells that it was made for the parent.
func mayAdopt(snapshot *pipeline.Snapshot, record *Record) bool {
	if snapshot.Parent.DeletionTimestamp != nil || record.DeletionTimestamp != nil {
		return false
	}
	if isLabelled(snapshot, record) {
		return true
	}
	patch, err := record.patch()
	return err == nil && record.Name == revisionName(snapshot.ParentType, snapshot.Parent.UID, patch)
}

func isLabelled(snapshot *pipeline.Snapshot, record *Record) bool {
	group, known := record.Labels[apiGroupLabel]
	return known && group == snapshot.ParentType.Group &&
		record.Labels[resourceLabel] == snapshot.ParentType.Resource &&
		snapshot.Selector.Matches(labels.Set(record.Labels))
}

// ownerReference is what a revision of the snapshot's parent carries.
func ownerReference(snapshot *pipeline.Snapshot) metav1.OwnerReference {
	return *metav1.NewControllerRef(snapshot.Parent, snapshot.ParentType.GroupVersionKind())
}
