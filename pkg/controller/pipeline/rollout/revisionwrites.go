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

// Abandon returns the writes that remove the revisions of a parent whose controller rolls
// nothing. Left behind, they would take the children back to what they remember when the
// controller rolls again. Those stay that only name children of types that the controller
// does not have: they are of another controller, which may roll.
func Abandon(snapshot *pipeline.Snapshot, stored []*revisions.Stored) []revisions.Write {
	var writes []revisions.Write
	for _, record := range revisions.OwnedBy(snapshot, stored) {
		claimed := revisions.NamesByKind(record.Children)
		if len(claimed) == 0 || slices.ContainsFunc(snapshot.Children, func(group pipeline.Group) bool { return claimed[group.Type.GroupKind()] != nil }) {
			writes = append(writes, remove(record))
		}
	}
	return writes
}

// writes makes the stored revisions say where the members are. The latest one comes first, so
// that it names a child before another no longer does. Those that no child is at go, and so
// do those that remember the same as another.
func (r *Rollout) writes(m *members) []revisions.Write {
	var writes, removals []revisions.Write
	for i, revision := range r.Revisions {
		claims, spare := revisions.Children(r.snapshot.Parent, m.claimsOf(i)), revision.stored
		if i == 0 || len(claims) > 0 {
			writes = append(writes, r.store(revision, claims)...)
			spare = spare[min(1, len(spare)):]
		}
		for _, record := range spare {
			removals = append(removals, remove(record))
		}
	}
	return append(writes, removals...)
}

func remove(record *revisions.Stored) revisions.Write {
	return revisions.Write{Op: pipeline.Delete, Revision: record.ControllerRevision, Adopts: record.IsOrphan()}
}

// store returns the write, if there is one to do, after which a revision is stored with the
// claims.
func (r *Rollout) store(revision *Revision, claims []v1alpha1.ControllerRevisionChildren) []revisions.Write {
	if len(revision.stored) == 0 {
		return []revisions.Write{{Op: pipeline.Create, Revision: r.newRecord(revision, claims)}}
	}
	before := revision.stored[0]
	orphan, claimed := before.IsOrphan(), revisions.SameChildren(before.Children, claims)
	if !orphan && claimed && r.describes(before, revision) {
		return nil
	}
	after := before.DeepCopy()
	r.describe(revision, after)
	if orphan {
		after.OwnerReferences = append(slices.DeleteFunc(after.OwnerReferences, r.owns), revisions.OwnerReference(r.snapshot))
	}
	if !claimed {
		after.Children = claims
	}
	return []revisions.Write{{Op: pipeline.Update, Revision: after, Adopts: orphan}}
}

func (r *Rollout) newRecord(revision *Revision, claims []v1alpha1.ControllerRevisionChildren) *v1alpha1.ControllerRevision {
	record := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       r.rules.NamespaceOf(r.snapshot.Parent),
			Name:            revision.Name,
			Labels:          revisions.Labels(r.snapshot),
			OwnerReferences: []metav1.OwnerReference{revisions.OwnerReference(r.snapshot)},
		},
		Children: claims,
	}
	r.describe(revision, record)
	return record
}

// describe has a record say what its revision is. Of all but the latest nothing more is known
// than what their records say, and that they are not it.
func (r *Rollout) describe(revision *Revision, record *v1alpha1.ControllerRevision) {
	if revision != r.Revisions[0] {
		delete(record.Annotations, v1alpha1.CurrentRevisionAnnotation)
		return
	}
	metav1.SetMetaDataAnnotation(&record.ObjectMeta, v1alpha1.CurrentRevisionAnnotation, "true")
	revisions.Record(record, revision.patch, r.rules.fieldPaths())
}

// describes tells whether a record says what its revision is.
func (r *Rollout) describes(record *revisions.Stored, revision *Revision) bool {
	_, isCurrent := record.Annotations[v1alpha1.CurrentRevisionAnnotation]
	if revision != r.Revisions[0] {
		return !isCurrent
	}
	return isCurrent && record.Records(revision.patch, r.rules.fieldPaths())
}

func (r *Rollout) owns(owner metav1.OwnerReference) bool { return owner.UID == r.snapshot.Parent.UID }
