// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// RevisionCache keeps what a sync of one parent has parsed of its revisions for the next sync,
// which parses only what has changed, and since when the condition has its status. The zero value is an empty cache. It belongs to one
// parent of one controller, and is not safe for concurrent use.
type RevisionCache struct {
	// latest is the version of the parent with this UID whose fields have this hash.
	uid    types.UID
	fields uint64
	latest version
	// status is the last status of the condition of the parent, which it has had since then.
	status metav1.ConditionStatus
	since  metav1.Time
	// completions are what was found of the children, while a rollout is in progress.
	completions map[types.UID]completion
	// conditionWarnings are about the condition in parents with that schema.
	conditionWarnings struct {
		schema   *openapi.Type
		warnings []pipeline.Warning
	}
	// restored are the parents as they were at earlier revisions. They were made from the
	// parent as it was then, which is from.
	from     *object.Object
	restored map[*revisions.Stored]*object.Object
}

// version is a version of a parent: what its revision records, in canonical form, and the name
// of that revision.
type version struct {
	patch []byte
	name  string
}

// latestVersion returns the version of the snapshot's parent.
func (c *RevisionCache) latestVersion(snapshot *pipeline.Snapshot, paths []string) (version, error) {
	parent := snapshot.Parent
	fields, err := revisions.HashFields(parent, paths)
	if err != nil {
		return version{}, err
	}
	if c.uid == parent.UID && c.fields == fields && c.latest.name != "" {
		return c.latest, nil
	}
	patch, err := revisions.Patch(parent, paths)
	if err != nil {
		return version{}, err
	}
	if c.uid != parent.UID {
		c.status = "" // that of an earlier parent of the same name
	}
	c.uid, c.fields = parent.UID, fields
	c.latest = version{patch, revisions.Name(snapshot.ParentType, parent.UID, patch)}
	return c.latest, nil
}

// shareMemory makes the latest version use the memory of its stored revision, where both have
// the same content.
func (c *RevisionCache) shareMemory(stored *revisions.Stored) {
	if bytes.Equal(stored.ParentPatch.Raw, c.latest.patch) {
		c.latest.patch = stored.ParentPatch.Raw
	}
	if stored.Name == c.latest.name {
		c.latest.name = stored.Name
	}
}

// restore returns the parent as it was at each of the stored revisions. The cache drops what it
// has of all other revisions.
func (c *RevisionCache) restore(parent *object.Object, stored []*revisions.Stored, paths []string) ([]*object.Object, error) {
	before := c.restored
	if c.from != parent {
		before = nil
	}
	c.from, c.restored = nil, nil
	if len(stored) == 0 {
		return nil, nil
	}
	restored, byRevision := make([]*object.Object, len(stored)), make(map[*revisions.Stored]*object.Object, len(stored))
	for i, revision := range stored {
		cached := before[revision]
		if cached == nil {
			var err error
			if cached, err = revisions.Restore(parent, revision.ControllerRevision, paths); err != nil {
				return nil, err
			}
		}
		restored[i], byRevision[revision] = cached, cached
	}
	c.from, c.restored = parent, byRevision
	return restored, nil
}
