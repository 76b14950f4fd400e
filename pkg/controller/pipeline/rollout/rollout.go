// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// Rollout is the state of one parent's rollout when a sync begins.
type Rollout struct {
	// Revisions are the versions of the parent that the hooks are called for, the latest first.
	Revisions []*Revision

	rules    *Rules
	snapshot *pipeline.Snapshot
	cache    *RevisionCache
	// excess are the stored ControllerRevisions of the oldest versions, beyond maxRevisions.
	excess []*revisions.Stored
}

// maxRevisions bounds the versions of a parent, because each sync calls the hooks for each version. The revisions of
// the oldest versions are deleted, so the versions of their children are unknown.
const maxRevisions = 100

// Revision is one version of a parent.
type Revision struct {
	// Parent is the parent at this version: for the latest version, the snapshot's parent.
	Parent *object.Object
	// Name is the name of its ControllerRevision.
	Name string

	// patch is what the revision records of the parent, in canonical form.
	patch []byte
	// stored are the ControllerRevisions of this version. A new version has none. If there are several, which is
	// rare, the first one stays.
	stored []*revisions.Stored
}

// Open finds the revisions of the snapshot's parent among those stored in its namespace. The latest one may not be
// stored yet. An error names the change to make in the controller, the parent or a revision.
func Open(
	rules *Rules, snapshot *pipeline.Snapshot, stored []*revisions.Stored, cache *RevisionCache,
) (*Rollout, error) {
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

// UpToDate reports whether the observed child is in the desired state and needs no write.
type UpToDate func(observed, desired *object.Object) (bool, error)

// Decision has the actions of a sync for a parent's rollout.
type Decision struct {
	// Writes update the stored revisions. They must be made in this order: after each of them, the revision of
	// every child still names it.
	Writes []revisions.Write
	// Response combines the hook's answers for all revisions. Its status has the condition.
	Response *pipeline.Response
	// Updated is the condition that shows how far the rollout is.
	Updated metav1.Condition
	// Moved are the children that move to the latest revision now, Behind those that stay at an earlier one.
	Moved, Behind []object.Key
	// Waits is true if children in motion keep others from moving.
	Waits bool
	// Recheck is the time after which a child may count as healthy although nothing changes; zero if there is no
	// such child.
	Recheck time.Duration
	// Advice adds to the message of Updated: it names the field of the controller's spec that makes the rollout
	// wait, and the probable mistake in it. It is empty if the rollout waits for something else.
	Advice string
}

// Decide decides which revision each child is at. The responses are the hook's answers for the Revisions, in
// the same order. An error comes from upToDate, or says that the status of the answer cannot have conditions.
func (r *Rollout) Decide(responses []*pipeline.Response, upToDate UpToDate, now time.Time) (*Decision, error) {
	if len(responses) != len(r.Revisions) {
		return nil, fmt.Errorf("there are %d answers for %d revisions of %s",
			len(responses), len(r.Revisions), r.snapshot.Parent)
	}
	c := r.children(responses, upToDate, now)
	if err := c.assign(); err != nil {
		return nil, err
	}
	condition, moved, waitsFor, err := c.advance()
	if err != nil {
		return nil, err
	}
	d := &Decision{
		Moved: keysOf(moved), Behind: slices.Collect(c.keysBehind()),
		Writes: r.writes(c, condition), Response: c.compose(responses), Updated: condition,
		Waits: waitsFor != nil, Recheck: c.recheck, Advice: waitsFor.advice(),
	}
	if d.Advice != "" {
		d.Advice += waitsFor.whyHeldBack()
	}
	d.Updated.LastTransitionTime = r.lastTransition(condition, now)
	d.Response.Status, err = r.withCondition(d.Response.Status, d.Updated)
	if d.Response.Status != nil {
		d.Response.Warnings = slices.Concat(d.Response.Warnings, r.conditionWarnings())
	}
	d.Response.Warnings = slices.Concat(d.Response.Warnings, r.ignoredWarnings())
	return d, err
}

// add adds a stored revision to the version of the parent that it records. A revision with the name of
// the latest version is the latest, because no other version can have that name.
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

// dropExcess drops the oldest versions if there are too many. Users may have created revisions.
func (r *Rollout) dropExcess() {
	for _, revision := range r.Revisions[min(maxRevisions, len(r.Revisions)):] {
		r.excess = append(r.excess, revision.stored...)
	}
	r.Revisions = r.Revisions[:min(maxRevisions, len(r.Revisions))]
}

// restore sets the Parent of all revisions except the latest.
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

// RevisionCache keeps the parsed revisions of one parent of one controller for the next sync, which parses only the
// changed ones. It also keeps the time from which the condition has had its status. The zero value is an empty cache.
// It is not safe for concurrent use.
type RevisionCache struct {
	// latest is the version of the parent with this UID, whose fields have this hash.
	uid    types.UID
	fields uint64
	latest version
	// status is the status of the parent's condition after the last sync, and since the time of its last change.
	status metav1.ConditionStatus
	since  metav1.Time
	// completions has what is known of the children while a rollout is in progress.
	completions map[types.UID]completion
	// conditionWarnings are the warnings about the condition if the parent has that schema.
	conditionWarnings struct {
		schema   *openapi.Type
		warnings []pipeline.Warning
	}
	// restored has the parents at earlier revisions. They were made from this form of the parent.
	from     *object.Object
	restored map[*revisions.Stored]*object.Object
}

// version is a version of a parent: the fields that its revision records, in canonical form, and the name of
// the revision.
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
		c.status = "" // an earlier parent of the same name had it
	}
	c.uid, c.fields = parent.UID, fields
	c.latest = version{patch, revisions.Name(snapshot.ParentType, parent.UID, patch)}
	return c.latest, nil
}

// shareMemory makes the latest version use the memory of its stored revision where both are equal.
func (c *RevisionCache) shareMemory(stored *revisions.Stored) {
	if bytes.Equal(stored.ParentPatch.Raw, c.latest.patch) {
		c.latest.patch = stored.ParentPatch.Raw
	}
	if stored.Name == c.latest.name {
		c.latest.name = stored.Name
	}
}

// restore returns the parent at each of the stored revisions. The cache drops all other revisions.
func (c *RevisionCache) restore(
	parent *object.Object, stored []*revisions.Stored, paths []string,
) ([]*object.Object, error) {
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

// ignoredWarnings returns warnings about the parts of stored revisions that do not count: fields that the
// controller does not roll out, and revisions beyond maxRevisions.
func (r *Rollout) ignoredWarnings() []pipeline.Warning {
	var warnings []pipeline.Warning
	for _, earlier := range r.Revisions[1:] {
		stored := earlier.stored[0]
		if outside := revisions.Outside(stored.ControllerRevision, r.rules.fieldPaths()); len(outside) > 0 {
			warnings = append(warnings, pipeline.Warning{Reason: v1alpha1.ReasonRevisionIgnored, Message: fmt.Sprintf(
				"ControllerRevision %s records %s, but the server restores only the field paths that the controller rolls out "+
					"(%s); all other fields of its children follow the current parent",
				stored.Name, strings.Join(outside, ", "), strings.Join(r.rules.fieldPaths(), ", "))})
		}
	}
	if len(r.excess) > 0 {
		warnings = append(warnings, pipeline.Warning{Reason: v1alpha1.ReasonRevisionIgnored, Message: fmt.Sprintf(
			"there are more than %d revisions of this object, so the server deletes the oldest, and their children stay as "+
				"they are until the server updates them", maxRevisions)})
	}
	return warnings
}
