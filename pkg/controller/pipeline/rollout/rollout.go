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

// Rollout is the state of one parent's rollout when a sync begins.
type Rollout struct {
	// Revisions are the versions of the parent that the hooks are asked about, the latest
	// first.
	Revisions []*Revision

	rules    *Rules
	snapshot *pipeline.Snapshot
	cache    *RevisionCache
	// excess are the stored ControllerRevisions of the oldest versions, if there are too many versions.
	excess []*revisions.Stored
}

// maxRevisions bounds the versions of a parent, each of which costs calls of the hooks in each sync.
// The children at the versions beyond count as moved to the latest one.
const maxRevisions = 100

// Revision is one version of a parent.
type Revision struct {
	// Parent is the parent as it was in this version. In the latest version it is the
	// snapshot's parent.
	Parent *object.Object
	// Name is the name of its ControllerRevision.
	Name string

	// patch is what the revision records of the parent, in canonical form.
	patch []byte
	// stored are the ControllerRevisions of this version. A new version has none. It rarely
	// has more than one; then the first stays.
	stored []*revisions.Stored
}

// Open finds the revisions of the snapshot's parent among those stored in its namespace. The
// latest one may not be stored yet. An error says what has to change in the controller, the
// parent or a revision.
func Open(rules *Rules, snapshot *pipeline.Snapshot, stored []*revisions.Stored, cache *RevisionCache) (*Rollout, error) {
	version, err := cache.latestVersion(snapshot, rules.fieldPaths())
	if err != nil {
		return nil, err
	}
	latest := &Revision{Parent: snapshot.Parent, Name: version.name, patch: version.patch}
	r := &Rollout{Revisions: []*Revision{latest}, rules: rules, snapshot: snapshot, cache: cache}
	for _, revision := range revisions.OwnedBy(snapshot, stored) {
		if err := r.add(revision); err != nil {
			return nil, err
		}
	}
	r.dropExcess()
	if len(latest.stored) > 0 {
		latest.Name = latest.stored[0].Name
		cache.shareMemory(latest.stored[0])
	}
	return r, r.restore(cache)
}

// add adds a stored revision to the version of the parent that it records. A revision with the
// name of the latest version is the latest, because no other revision can have that name.
func (r *Rollout) add(stored *revisions.Stored) error {
	latest := r.Revisions[0]
	if stored.Name == latest.Name {
		latest.stored = slices.Insert(latest.stored, 0, stored)
		return nil
	}
	patch, err := stored.Patch()
	if err != nil {
		return err
	}
	for _, revision := range r.Revisions {
		if bytes.Equal(revision.patch, patch) {
			revision.stored = append(revision.stored, stored)
			return nil
		}
	}
	r.Revisions = append(r.Revisions, &Revision{Name: stored.Name, patch: patch, stored: []*revisions.Stored{stored}})
	return nil
}

// dropExcess drops the oldest versions if there are too many. Users may have written revisions.
func (r *Rollout) dropExcess() {
	for _, revision := range r.Revisions[min(maxRevisions, len(r.Revisions)):] {
		r.excess = append(r.excess, revision.stored...)
	}
	r.Revisions = r.Revisions[:min(maxRevisions, len(r.Revisions))]
}

// restore sets the parents of all revisions but the latest.
func (r *Rollout) restore(cache *RevisionCache) error {
	earlier := r.Revisions[1:]
	var stored []*revisions.Stored
	for _, revision := range earlier {
		stored = append(stored, revision.stored[0])
	}
	restored, err := cache.restore(r.snapshot.Parent, stored, r.rules.fieldPaths())
	for i, parent := range restored {
		earlier[i].Parent = parent
	}
	return err
}
