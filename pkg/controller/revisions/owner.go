// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// OwnedBy returns the revisions of the snapshot's parent, the newest first. They are those
// that the parent controls, and the orphans that it may adopt. A parent that is being deleted may
// adopt nothing, and orphans that can only be its own count as its revisions all the same: the
// host's garbage collector has orphaned them because the user asked for it. They must be left as
// they are.
//
// A revision that the parent controls is never released because the selector does not match
// its labels. Metacontroller releases it, and then it can neither use it nor create it again,
// because the name is in use.
func OwnedBy(snapshot *pipeline.Snapshot, stored []*Stored) []*Stored {
	var owned []*Stored
	for _, revision := range stored {
		controller := metav1.GetControllerOfNoCopy(revision)
		if controller != nil && controller.UID == snapshot.Parent.UID || controller == nil && isOwnOrphan(snapshot, revision) {
			owned = append(owned, revision)
		}
	}
	slices.SortFunc(owned, func(a, b *Stored) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return owned
}

// isOwnOrphan reports whether an orphan is a revision of the parent: the orphan has the labels of
// its revisions, or a name that only a revision of this parent can have.
func isOwnOrphan(snapshot *pipeline.Snapshot, orphan *Stored) bool {
	if snapshot.Parent.DeletionTimestamp != nil {
		return hasNameOf(snapshot, orphan)
	}
	return orphan.DeletionTimestamp == nil && (hasLabels(snapshot, orphan) || hasNameOf(snapshot, orphan))
}

// hasNameOf reports whether a revision has a name that only a revision of the parent can have.
func hasNameOf(snapshot *pipeline.Snapshot, orphan *Stored) bool {
	patch, err := orphan.Patch()
	return err == nil && orphan.Name == Name(snapshot.ParentType, snapshot.Parent.UID, patch)
}

// hasLabels reports whether a revision names the parent's type in its labels and is matched by
// the parent's selector.
func hasLabels(snapshot *pipeline.Snapshot, revision *Stored) bool {
	group, found := revision.Labels[apiGroupLabel]
	return found && group == snapshot.ParentType.Group &&
		revision.Labels[resourceLabel] == snapshot.ParentType.Resource &&
		snapshot.Selector.Matches(labels.Set(revision.Labels))
}

// OwnerReference returns the owner reference of the revisions of the snapshot's parent.
func OwnerReference(snapshot *pipeline.Snapshot) metav1.OwnerReference {
	return *metav1.NewControllerRef(snapshot.Parent, snapshot.ParentType.GroupVersionKind())
}
