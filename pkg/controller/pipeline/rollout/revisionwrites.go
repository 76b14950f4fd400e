// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// Abandon returns the writes that remove the revisions of a parent whose controller no longer rolls any kind.
// Otherwise they would return the children to old versions once the controller rolls again. Revisions that name no
// children of the controller's types stay, because they may belong to another controller.
func Abandon(snapshot *pipeline.Snapshot, stored []*revisions.Stored) []revisions.Write {
	var writes []revisions.Write
	for _, revision := range revisions.OwnedBy(snapshot, stored) {
		names := revisions.NamesByKind(revision.Children)
		hasNames := func(group pipeline.Group) bool { return names[group.Type.GroupKind()] != nil }
		if slices.ContainsFunc(snapshot.Children, hasNames) {
			writes = append(writes, remove(revision))
		}
	}
	return permitted(snapshot, writes)
}

// permitted returns the writes that are allowed: a parent that is being deleted must not adopt revisions.
func permitted(snapshot *pipeline.Snapshot, writes []revisions.Write) []revisions.Write {
	if snapshot.Parent.DeletionTimestamp == nil {
		return writes
	}
	return slices.DeleteFunc(writes, func(write revisions.Write) bool { return write.Adopts })
}

// writes returns the writes after which each stored revision names its children. The latest revision comes first, so
// it already names a child when another revision stops naming it. Revisions without children are removed last, and so
// are duplicates of one version. While a rollout is not over, the revision before the latest one stays even if all
// children have moved so that the user can go back to it.
func (r *Rollout) writes(c *children, condition metav1.Condition) []revisions.Write {
	isAtEarlier := func(of *child) bool { return of.at > 0 }
	keepsOne := condition.Status != metav1.ConditionTrue && !slices.ContainsFunc(c.inOrder, isAtEarlier)
	var writes, removals []revisions.Write
	for i, revision := range r.Revisions {
		claims, spare := revisions.Children(r.snapshot.Parent, c.keysAt(i)), revision.stored
		if i == 0 || len(claims) > 0 || i == 1 && keepsOne {
			writes = append(writes, r.store(revision, claims)...)
			spare = spare[min(1, len(spare)):]
		}
		for _, stored := range spare {
			removals = append(removals, remove(stored))
		}
	}
	for _, stored := range r.excess {
		removals = append(removals, remove(stored))
	}
	return permitted(r.snapshot, append(writes, removals...))
}

func remove(stored *revisions.Stored) revisions.Write {
	return revisions.Write{Op: pipeline.Delete, Revision: stored.ControllerRevision, Adopts: stored.IsOrphan()}
}

// store returns the write that stores a revision with the claims; none if nothing has to be written.
func (r *Rollout) store(revision *Revision, claims []v1alpha1.ControllerRevisionChildren) []revisions.Write {
	if len(revision.stored) == 0 {
		return []revisions.Write{{Op: pipeline.Create, Revision: r.create(revision, claims)}}
	}
	before := revision.stored[0]
	owner, isClaimed := revisions.OwnerReference(r.snapshot), revisions.SameChildren(before.Children, claims)
	adopts := before.IsOrphan() ||
		r.snapshot.Parent.DeletionTimestamp == nil && metav1.GetControllerOfNoCopy(before).APIVersion != owner.APIVersion
	if !adopts && isClaimed && r.describes(before, revision) {
		return nil
	}
	after := before.DeepCopy()
	r.describe(revision, after)
	// Metacontroller, and earlier versions of the server, have stored references that block the deletion of the parent.
	if adopts || slices.ContainsFunc(after.OwnerReferences, r.isParent) {
		after.OwnerReferences = append(slices.DeleteFunc(after.OwnerReferences, r.isParent), owner)
	}
	if !isClaimed {
		after.Children = claims
	}
	return []revisions.Write{{Op: pipeline.Update, Revision: after, Adopts: adopts}}
}

// create returns a new ControllerRevision with the claims.
func (r *Rollout) create(
	revision *Revision, claims []v1alpha1.ControllerRevisionChildren,
) *v1alpha1.ControllerRevision {
	created := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       r.rules.NamespaceOf(r.snapshot.Parent),
			Name:            revision.Name,
			Labels:          revisions.Labels(r.snapshot),
			OwnerReferences: []metav1.OwnerReference{revisions.OwnerReference(r.snapshot)},
		},
		Children: claims,
	}
	r.describe(revision, created)
	return created
}

// describe records in a ControllerRevision which version of the parent it is. Only the latest revision is marked as
// current and records the parent again; an older one keeps its record.
func (r *Rollout) describe(revision *Revision, written *v1alpha1.ControllerRevision) {
	if revision != r.Revisions[0] {
		delete(written.Annotations, v1alpha1.CurrentRevisionAnnotation)
		return
	}
	metav1.SetMetaDataAnnotation(&written.ObjectMeta, v1alpha1.CurrentRevisionAnnotation, "true")
	revisions.Record(written, revision.patch, r.rules.fieldPaths())
}

// describes reports whether describe would leave the stored ControllerRevision as it is.
func (r *Rollout) describes(stored *revisions.Stored, revision *Revision) bool {
	_, isCurrent := stored.Annotations[v1alpha1.CurrentRevisionAnnotation]
	if revision != r.Revisions[0] {
		return !isCurrent
	}
	return isCurrent && stored.Records(revision.patch, r.rules.fieldPaths())
}

func (r *Rollout) isParent(owner metav1.OwnerReference) bool {
	return owner.UID == r.snapshot.Parent.UID
}
