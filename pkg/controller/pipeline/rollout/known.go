// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
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
	restored map[*Record]*object.Object
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
	fields, err := hashFields(parent, paths)
	if err != nil {
		return version{}, err
	}
	if k.uid == parent.UID && k.fields == fields && k.latest.name != "" {
		return k.latest, nil
	}
	patch, err := patchOf(parent, paths)
	if err != nil {
		return version{}, err
	}
	k.uid, k.fields = parent.UID, fields
	k.latest = version{patch, revisionName(snapshot.ParentType, parent.UID, patch)}
	return k.latest, nil
}

// hashFields identifies the fields of a parent that the paths lead to, as they are written.
func hashFields(parent *object.Object, paths []string) (uint64, error) {
	hash := xxhash.New()
	for _, path := range paths {
		raw, err := fieldOf(parent, path)
		if err != nil {
			return 0, err
		}
		_, _ = fmt.Fprintf(hash, "%d:", len(raw))
		_, _ = hash.Write(raw)
	}
	return hash.Sum64(), nil
}

// storedAs has the version take no memory of its own where the record has the same.
func (k *Known) storedAs(record *Record) {
	if bytes.Equal(record.ParentPatch.Raw, k.latest.patch) {
		k.latest.patch = record.ParentPatch.Raw
	}
	if record.Name == k.latest.name {
		k.latest.name = record.Name
	}
}

// restore returns the parent as it was at each of the records, and forgets all others.
func (k *Known) restore(parent *object.Object, records []*Record, paths []string) ([]*object.Object, error) {
	before := k.restored
	if k.from != parent {
		before = nil
	}
	k.from, k.restored = nil, nil
	if len(records) == 0 {
		return nil, nil
	}
	restored, byRecord := make([]*object.Object, len(records)), make(map[*Record]*object.Object, len(records))
	for i, record := range records {
		known := before[record]
		if known == nil {
			var err error
			if known, err = restore(parent, record.ControllerRevision, paths); err != nil {
				return nil, err
			}
		}
		restored[i], byRecord[record] = known, known
	}
	k.from, k.restored = parent, byRecord
	return restored, nil
}
