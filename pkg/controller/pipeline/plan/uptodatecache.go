// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// UpToDateCache remembers comparisons that found nothing to write. For each object of one parent, it has the hashes of
// the desired and the observed state at that time. It also remembers the faults of the desired state, so that these are
// not searched again either. The zero value is empty. It is not safe for concurrent use.
type UpToDateCache struct {
	objects map[types.UID]hashPair
	// target is about the labels and annotations of a decorator's target, and about its status if that is written
	// with them.
	target struct {
		uid types.UID
		hashPair
	}
	// outdated has the children that OnDelete leaves alone although they differ from what the hook wants.
	outdated map[types.UID]outdatedPair
	// outdatedWarnings are the last warnings about these.
	outdatedWarnings map[schema.GroupKind]*outdatedWarning
	unknown          unknownFieldsCache
	hostWarnings     hostWarningsCache
}

// hashPair has the hashes of the desired and of the observed state.
type hashPair struct{ desired, observed uint64 }

// Clone returns a copy of the cache.
func (c *UpToDateCache) Clone() UpToDateCache {
	clone := *c
	clone.objects, clone.outdated = maps.Clone(c.objects), maps.Clone(c.outdated)
	clone.outdatedWarnings = maps.Clone(c.outdatedWarnings)
	clone.unknown.found, clone.unknown.searched = maps.Clone(c.unknown.found), slices.Clone(c.unknown.searched)
	clone.hostWarnings = maps.Clone(c.hostWarnings)
	return clone
}

// Is reports whether nothing is left to write for the pair.
func (c *UpToDateCache) Is(uid types.UID, desired, observed uint64) bool {
	at, known := c.objects[uid]
	return known && at == hashPair{desired, observed}
}

// Put records that nothing is left to write for the pair.
func (c *UpToDateCache) Put(uid types.UID, desired, observed uint64) {
	if c.objects == nil {
		c.objects = map[types.UID]hashPair{}
	}
	c.objects[uid] = hashPair{desired, observed}
}

// putOutdated records that the child of the pair differs and is left alone.
func (c *UpToDateCache) putOutdated(uid types.UID, pair outdatedPair) {
	if c.outdated == nil {
		c.outdated = map[types.UID]outdatedPair{}
	}
	c.outdated[uid] = pair
}

// isOutdated reports whether it is known that the child differs and is left alone.
func (c *UpToDateCache) isOutdated(observed, desired *object.Object) bool {
	known, found := c.outdated[observed.UID]
	return found && known.hashPair == hashPair{desired.Hash, observed.Hash}
}

func (c *UpToDateCache) putOutdatedWarning(kind schema.GroupKind, warning *outdatedWarning) {
	if c.outdatedWarnings == nil {
		c.outdatedWarnings = map[schema.GroupKind]*outdatedWarning{}
	}
	c.outdatedWarnings[kind] = warning
}

// forget removes an object so that it is compared again.
func (c *UpToDateCache) forget(uid types.UID) {
	delete(c.objects, uid)
	if c.target.uid == uid {
		c.target.uid = ""
	}
}

// isTargetUpToDate reports whether nothing is left to write to a target for the pair.
func (c *UpToDateCache) isTargetUpToDate(uid types.UID, desired, observed uint64) bool {
	return c.target.uid == uid && c.target.hashPair == hashPair{desired, observed}
}

// Wrote records the results of writes: while a result and the desired state stay the same, another write would change
// nothing.
func (c *UpToDateCache) Wrote(outcomes []pipeline.Outcome) {
	for i, outcome := range outcomes {
		if outcome.Desired != 0 && (len(outcome.Warnings) > 0 || outcome.Result != nil) {
			paths, others := splitWarnings(&outcomes[i])
			c.unknown.add(outcome.Desired, paths, outcome.Schema)
			c.hostWarnings.put(outcome.Desired, others)
		}
		switch result := outcome.Result; {
		case result == nil:
		case outcome.Op.YieldsDesired():
			c.Put(result.UID, outcome.Desired, result.Hash)
		case outcome.Op == pipeline.Status:
			c.Put(result.UID, outcome.Desired, xxhash.Sum64(result.Lookup("status")))
		case outcome.Op == pipeline.Metadata:
			c.target.uid = result.UID
			c.target.hashPair = hashPair{outcome.Desired, hashTarget(outcome.Type, result)}
		}
	}
}

// Prune removes the objects that the snapshot no longer shows.
func (c *UpToDateCache) Prune(snapshot *pipeline.Snapshot) {
	shown := 1
	for _, group := range snapshot.Children {
		shown += len(group.Claimed)
	}
	c.objects = pruned(c.objects, snapshot, shown)
	c.outdated = pruned(c.outdated, snapshot, shown)
}

// pruned returns the pairs of the objects that the snapshot shows, whose number is shown.
func pruned[P any](pairs map[types.UID]P, snapshot *pipeline.Snapshot, shown int) map[types.UID]P {
	if len(pairs) <= shown {
		return pairs
	}
	kept := make(map[types.UID]P, shown)
	keep := func(uid types.UID) {
		if at, known := pairs[uid]; known {
			kept[uid] = at
		}
	}
	keep(snapshot.Parent.UID)
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			keep(child.UID)
		}
	}
	return kept
}

// unknownFieldsCache has the desired fields of one parent and its children that the host does not know, so that not
// every sync searches for them. The zero value is empty.
type unknownFieldsCache struct {
	// schemas is the SchemasVersion with which the entries were found.
	schemas uint64
	// found has an entry for everything that was searched, by the hash of what is desired. The entry is nil if all
	// fields are known.
	found map[uint64]*[]openapi.UnknownField
	// searched are the entries that were found with other schemas since the last prune.
	searched []uint64
	// status is the hash of the status that was searched last.
	status uint64
}

// get returns the entry for a desired state, and whether it was found with schemas of that version.
func (c *unknownFieldsCache) get(desired, schemas uint64) (fields []openapi.UnknownField, current bool) {
	found, known := c.found[desired]
	if found != nil {
		fields = *found
	}
	return fields, known && c.schemas == schemas
}

func (c *unknownFieldsCache) put(desired, schemas uint64, fields []openapi.UnknownField) {
	if c.found == nil {
		c.found = map[uint64]*[]openapi.UnknownField{}
	}
	if c.schemas != schemas && c.schemas != 0 {
		c.searched = append(c.searched, desired)
	}
	c.found[desired] = nil
	if len(fields) > 0 {
		c.found[desired] = &fields
	}
}

// add adds unknown fields that the host warned of when it received the desired state. The host may know more than the
// schema says, which may be nil.
func (c *unknownFieldsCache) add(desired uint64, paths []string, schema *openapi.Type) {
	if len(paths) == 0 {
		return
	}
	fields, _ := c.get(desired, c.schemas)
	fields = slices.Clone(fields)
	for _, path := range paths {
		if !slices.ContainsFunc(fields, func(known openapi.UnknownField) bool { return known.Path == path }) {
			fields = append(fields, openapi.UnknownField{Path: path, Meant: schema.Meant(path)})
		}
	}
	c.put(desired, c.schemas, fields)
}

// prune removes all entries except those of the desired children and the status. If the schemas have changed, it also
// removes entries that were not searched since. The entries that stay count as found with schemas of that version.
func (c *unknownFieldsCache) prune(schemas uint64, desired []*object.Object) {
	searched := c.searched
	c.searched = nil
	if former := c.schemas; former != schemas {
		c.schemas = schemas
		if former == 0 {
			return // nothing was found before
		}
		maps.DeleteFunc(c.found, func(hash uint64, _ *[]openapi.UnknownField) bool {
			return !slices.Contains(searched, hash)
		})
	}
	c.found = keepDesired(c.found, c.status, desired)
}

// keepDesired returns only the entries of the desired children and of the status with that hash, if there are more
// entries than that. The keys are hashes of desired states.
func keepDesired[V any](entries map[uint64]V, status uint64, desired []*object.Object) map[uint64]V {
	if len(entries) <= len(desired)+1 {
		return entries
	}
	kept := make(map[uint64]V, len(desired)+1)
	keep := func(hash uint64) {
		if entry, known := entries[hash]; known {
			kept[hash] = entry
		}
	}
	keep(status)
	for _, child := range desired {
		keep(child.Hash)
	}
	return kept
}

// hostWarningsCache has the host's warnings about the last writes for one parent, by the hash of the desired state.
// They stay valid while the desired state stays the same. The zero value is empty.
type hostWarningsCache map[uint64][]string

// put records the host's warnings about a write of the desired state, which may be none.
func (c *hostWarningsCache) put(desired uint64, texts []string) {
	switch {
	case len(texts) == 0:
		delete(*c, desired)
	case *c == nil:
		*c = hostWarningsCache{desired: texts}
	default:
		(*c)[desired] = texts
	}
}
