// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// Known is what one sync of a parent leaves to the next, which reads only what has changed. The
// zero value is nothing. It belongs to one parent of one controller, and is not safe for
// concurrent use.
type Known struct {
	// latest is of the parent with this UID whose fields have this hash.
	uid    types.UID
	fields uint64
	latest version
	// restored are the parents as of earlier revisions, made from the parent as it was then.
	from     *object.Object
	restored map[*revisions.Stored]*object.Object
}

// version is a version of a parent: what a revision remembers of it, in canonical form, and the
// name of that revision.
type version struct {
	patch []byte
	name  string
}

// latestOf returns the version that the snapshot's parent is at.
func (k *Known) latestOf(snapshot *pipeline.Snapshot, paths []string) (version, error) {
	parent := snapshot.Parent
	fields, err := revisions.HashFields(parent, paths)
	if err != nil {
		return version{}, err
	}
	if k.uid == parent.UID && k.fields == fields && k.latest.name != "" {
		return k.latest, nil
	}
	patch, err := revisions.Patch(parent, paths)
	if err != nil {
		return version{}, err
	}
	k.uid, k.fields = parent.UID, fields
	k.latest = version{patch, revisions.Name(snapshot.ParentType, parent.UID, patch)}
	return k.latest, nil
}

// storedAs has the version take no memory of its own where the record has the same.
func (k *Known) storedAs(record *revisions.Stored) {
	if bytes.Equal(record.ParentPatch.Raw, k.latest.patch) {
		k.latest.patch = record.ParentPatch.Raw
	}
	if record.Name == k.latest.name {
		k.latest.name = record.Name
	}
}

// restore returns the parent as it was at each of the records, and forgets all others.
func (k *Known) restore(parent *object.Object, records []*revisions.Stored, paths []string) ([]*object.Object, error) {
	before := k.restored
	if k.from != parent {
		before = nil
	}
	k.from, k.restored = nil, nil
	if len(records) == 0 {
		return nil, nil
	}
	restored, byRecord := make([]*object.Object, len(records)), make(map[*revisions.Stored]*object.Object, len(records))
	for i, record := range records {
		known := before[record]
		if known == nil {
			var err error
			if known, err = revisions.Restore(parent, record.ControllerRevision, paths); err != nil {
				return nil, err
			}
		}
		restored[i], byRecord[record] = known, known
	}
	k.from, k.restored = parent, byRecord
	return restored, nil
}
