// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Stored is a stored ControllerRevision. Its users must not change it. It parses its parentPatch only once.
type Stored struct {
	*v1alpha1.ControllerRevision
	patch func() ([]byte, error)
}

// NewStored returns a Stored that has parsed nothing yet.
func NewStored(revision *v1alpha1.ControllerRevision) *Stored {
	return &Stored{revision, sync.OnceValues(func() ([]byte, error) { return canonicalPatch(revision) })}
}

// Patch returns the parentPatch in canonical form.
func (s *Stored) Patch() ([]byte, error) { return s.patch() }

// IsOrphan reports whether the revision has no controller.
func (s *Stored) IsOrphan() bool { return metav1.GetControllerOfNoCopy(s) == nil }

// Write is one change of the stored revisions.
type Write struct {
	// Op is pipeline.Create, pipeline.Update or pipeline.Delete.
	Op pipeline.Op
	// Revision is the revision to create, the new content of the one to update, or the one
	// to delete.
	Revision *v1alpha1.ControllerRevision
	// Adopts is true if the stored revision has no controller, or names it in another version. Before the first
	// such write of a sync, the caller must ask the host whether the parent still exists and is not being deleted.
	Adopts bool
}

// maxPrefix is the maximum number of characters of a revision's name that come from the parent's type. A name
// may have 253 characters, and its hash has 40.
const maxPrefix = 212

// Name returns the name of the revision that records patch, which is in canonical form, for the parent with that UID.
// Because of the hash in it, revisions of other parents have other names.
func Name(parent object.Type, uid types.UID, patch []byte) string {
	group := parent.Group
	if group == "" {
		group = "core"
	}
	prefix := parent.Resource + "." + group
	hash := sha1.New()
	_, _ = hash.Write([]byte(uid))
	_, _ = hash.Write(patch)
	return prefix[:min(len(prefix), maxPrefix)] + "-" + hex.EncodeToString(hash.Sum(nil))
}

// These labels of a revision name the type of its parent.
const (
	apiGroupLabel = v1alpha1.GroupName + "/apiGroup"
	resourceLabel = v1alpha1.GroupName + "/resource"
)

// Labels returns the labels of a new revision of the snapshot's parent.
//
// They are the generated labels of the parent's children or, if there are none, the labels of the parent's Pod
// template, as in Metacontroller. Unlike Metacontroller, Labels changes the labels so that the parent's
// selector matches them.
func Labels(snapshot *pipeline.Snapshot) map[string]string {
	set := maps.Clone(snapshot.GeneratedLabels)
	if set == nil {
		set = templateLabels(snapshot)
	}
	satisfy(set, snapshot.Selector)
	set[apiGroupLabel] = snapshot.ParentType.Group
	set[resourceLabel] = snapshot.ParentType.Resource
	return set
}

// templateLabels returns the valid labels of the parent's Pod template.
func templateLabels(snapshot *pipeline.Snapshot) map[string]string {
	set := map[string]string{}
	raw := snapshot.Parent.Lookup("spec", "template", "metadata", "labels")
	if raw == nil || json.Unmarshal(raw, &set) != nil || set == nil {
		return map[string]string{}
	}
	maps.DeleteFunc(set, func(key, value string) bool {
		return len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(value)) > 0
	})
	return set
}

// satisfy changes as few labels as possible so that the selector matches them.
func satisfy(set map[string]string, selector labels.Selector) {
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if requirement.Matches(labels.Set(set)) {
			continue
		}
		switch requirement.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			set[requirement.Key()] = requirement.Values().List()[0]
		case selection.Exists:
			set[requirement.Key()] = ""
		default:
			delete(set, requirement.Key())
		}
	}
}

// OwnedBy returns the revisions of the snapshot's parent, the newest first: those that the parent controls, and the
// orphans that it may adopt. A parent that is being deleted may not adopt anything. Orphans that can only be its own
// still count as its revisions: the host's garbage collector has orphaned them because the user has asked for it. The
// caller must not change them.
//
// A revision that the parent controls is not released even if the selector does not match its labels. Metacontroller
// releases it, and then can neither use it nor create it again, because the name is in use.
func OwnedBy(snapshot *pipeline.Snapshot, stored []*Stored) []*Stored {
	var owned []*Stored
	for _, revision := range stored {
		controller := metav1.GetControllerOfNoCopy(revision)
		isControlled := controller != nil && controller.UID == snapshot.Parent.UID
		if isControlled || controller == nil && isOwnOrphan(snapshot, revision) {
			owned = append(owned, revision)
		}
	}
	slices.SortFunc(owned, func(a, b *Stored) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return owned
}

// isOwnOrphan reports whether an orphan is a revision of the parent: it has the labels of the parent's
// revisions, or a name that only a revision of this parent can have.
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

// hasLabels reports whether the labels of a revision name the parent's type and match the parent's selector.
func hasLabels(snapshot *pipeline.Snapshot, revision *Stored) bool {
	group, found := revision.Labels[apiGroupLabel]
	return found && group == snapshot.ParentType.Group &&
		revision.Labels[resourceLabel] == snapshot.ParentType.Resource &&
		snapshot.Selector.Matches(labels.Set(revision.Labels))
}

// OwnerReference returns the owner reference of the revisions of the snapshot's parent. It does not block the deletion
// of the parent: the cluster cannot delete a revision while the server is not available.
func OwnerReference(snapshot *pipeline.Snapshot) metav1.OwnerReference {
	reference := *metav1.NewControllerRef(snapshot.Parent, snapshot.ParentType.GroupVersionKind())
	reference.BlockOwnerDeletion = nil
	return reference
}
