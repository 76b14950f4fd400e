// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// Rollout is how far the children of one parent have come, as a sync finds it.
type Rollout struct {
	// Revisions are the versions of the parent that the hooks are to be asked about, the
	// latest one first.
	Revisions []*Revision

	rules    *Rules
	snapshot *pipeline.Snapshot
}

// Revision is one version of a parent.
type Revision struct {
	// Parent is the parent as it was in this version. It is the snapshot's in the latest.
	Parent *object.Object
	// Name is that of its ControllerRevision.
	Name string

	// patch is what the revision remembers of the parent, in canonical form.
	patch []byte
	// stored are the records there are of this version: none of a new one, and rarely more
	// than one, of which the first stays.
	stored []*revisions.Stored
}

// Open finds the revisions of the snapshot's parent among those stored in its namespace.
// The latest one may not be stored yet. Errors say what in the controller, the parent or a
// revision must change.
func Open(rules *Rules, snapshot *pipeline.Snapshot, stored []*revisions.Stored, known *Known) (*Rollout, error) {
	at, err := known.latestOf(snapshot, rules.fieldPaths())
	if err != nil {
		return nil, err
	}
	latest := &Revision{Parent: snapshot.Parent, Name: at.name, patch: at.patch}
	r := &Rollout{Revisions: []*Revision{latest}, rules: rules, snapshot: snapshot}
	for _, record := range revisions.OwnedBy(snapshot, stored) {
		if err := r.add(record); err != nil {
			return nil, err
		}
	}
	if len(latest.stored) > 0 {
		latest.Name = latest.stored[0].Name
		known.storedAs(latest.stored[0])
	}
	return r, r.restore(known)
}

// add puts a stored revision to the version of the parent that it remembers. The name of the
// latest version could not be given to another revision, so what has it is the latest.
func (r *Rollout) add(record *revisions.Stored) error {
	latest := r.Revisions[0]
	if record.Name == latest.Name {
		latest.stored = slices.Insert(latest.stored, 0, record)
		return nil
	}
	patch, err := record.Patch()
	if err != nil {
		return err
	}
	for _, known := range r.Revisions {
		if bytes.Equal(known.patch, patch) {
			known.stored = append(known.stored, record)
			return nil
		}
	}
	r.Revisions = append(r.Revisions, &Revision{Name: record.Name, patch: patch, stored: []*revisions.Stored{record}})
	return nil
}

// restore makes the parents of all revisions but the latest.
func (r *Rollout) restore(known *Known) error {
	earlier := r.Revisions[1:]
	var records []*revisions.Stored
	for _, revision := range earlier {
		records = append(records, revision.stored[0])
	}
	restored, err := known.restore(r.snapshot.Parent, records, r.rules.fieldPaths())
	for i, parent := range restored {
		earlier[i].Parent = parent
	}
	return err
}
