// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Rollout is how far the children of one parent have come, as a sync finds it.
type Rollout struct {
	// Revisions are the versions of the parent that the hooks are to be asked about, the
	// latest one first.
	Revisions []*Revision

	rules    *Rules
	snapshot *stage.Snapshot
}

// Revision is one version of a parent.
type Revision struct {
	// Parent is the parent as it was in this version. It is the snapshot's in the latest.
	Parent *object.Object
	// Name is that of its ControllerRevision.
	Name string

	// patch is what the revision remembers of the parent, in canonical form.
	patch []byte
	// stored are the ControllerRevisions there are of this version: none of a new one, and
	// rarely more than one, of which the first stays.
	stored []*v1alpha1.ControllerRevision
}

// Open finds the revisions of the snapshot's parent among those stored in its namespace.
// The latest one may not be stored yet. Errors say what in the controller, the parent or a
// revision must change.
func Open(rules *Rules, snapshot *stage.Snapshot, stored []*v1alpha1.ControllerRevision) (*Rollout, error) {
	patch, err := patchOf(snapshot.Parent, rules.fieldPaths())
	if err != nil {
		return nil, err
	}
	latest := &Revision{
		Parent: snapshot.Parent,
		Name:   revisionName(snapshot.ParentType, snapshot.Parent.UID, patch),
		patch:  patch,
	}
	r := &Rollout{Revisions: []*Revision{latest}, rules: rules, snapshot: snapshot}
	for _, record := range own(snapshot, stored) {
		if err := r.add(record); err != nil {
			return nil, err
		}
	}
	if len(latest.stored) > 0 {
		latest.Name = latest.stored[0].Name
	}
	return r, nil
}

// add puts a stored revision to the version of the parent that it remembers. The name of the
// latest version could not be given to another revision, so what has it is the latest.
func (r *Rollout) add(record *v1alpha1.ControllerRevision) error {
	latest := r.Revisions[0]
	if record.Name == latest.Name {
		latest.stored = slices.Insert(latest.stored, 0, record)
		return nil
	}
	patch, err := canonicalPatch(record)
	if err != nil {
		return err
	}
	for _, known := range r.Revisions {
		if bytes.Equal(known.patch, patch) {
			known.stored = append(known.stored, record)
			return nil
		}
	}
	parent, err := restore(r.snapshot.Parent, record, r.rules.fieldPaths())
	if err != nil {
		return err
	}
	r.Revisions = append(r.Revisions, &Revision{
		Parent: parent, Name: record.Name, patch: patch, stored: []*v1alpha1.ControllerRevision{record},
	})
	return nil
}
