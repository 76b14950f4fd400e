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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// UpToDateCache is a cache of comparisons that found nothing to write. For each object of one parent
// it holds the hashes of what was desired and observed then. It also holds what was found to be wrong
// with what is desired, so that this is not searched again either. The zero value is empty. It is not
// safe for concurrent use.
type UpToDateCache struct {
	objects map[types.UID]hashPair
	// target is about the labels and annotations of a decorator's target, and about the
	// status if that is written with them.
	target struct {
		uid types.UID
		hashPair
	}
	// outdated has the children that differ from what is desired and that OnDelete leaves alone.
	outdated map[types.UID]outdatedPair
	// outdatedWarnings are the last warnings about these.
	outdatedWarnings map[schema.GroupKind]*outdatedWarning
	unknown          unknownFieldsCache
	hostWarnings     hostWarningsCache
}

// hashPair are the hashes of what the hook wanted and of what the host had.
type hashPair struct{ desired, observed uint64 }

// Clone returns a copy of the cache.
func (c *UpToDateCache) Clone() UpToDateCache {
	clone := *c
	clone.objects, clone.outdated, clone.outdatedWarnings = maps.Clone(c.objects), maps.Clone(c.outdated), maps.Clone(c.outdatedWarnings)
	clone.unknown.found, clone.unknown.searched = maps.Clone(c.unknown.found), slices.Clone(c.unknown.searched)
	clone.hostWarnings = maps.Clone(c.hostWarnings)
	return clone
}

// Is reports whether nothing is left to write for the pair.
func (c *UpToDateCache) Is(uid types.UID, desired, observed uint64) bool {
	at, known := c.objects[uid]
	return known && at == hashPair{desired, observed}
}

// Put adds that nothing is left to write for the pair.
func (c *UpToDateCache) Put(uid types.UID, desired, observed uint64) {
	if c.objects == nil {
		c.objects = map[types.UID]hashPair{}
	}
	c.objects[uid] = hashPair{desired, observed}
}

// putOutdated adds that the child of the pair differs and is left alone.
func (c *UpToDateCache) putOutdated(uid types.UID, pair outdatedPair) {
	if c.outdated == nil {
		c.outdated = map[types.UID]outdatedPair{}
	}
	c.outdated[uid] = pair
}

// isOutdated reports whether it is known that the child differs and is left alone.
func (c *UpToDateCache) isOutdated(observed, desired *object.Object) bool {
	known, is := c.outdated[observed.UID]
	return is && known.hashPair == hashPair{desired.Hash, observed.Hash}
}

func (c *UpToDateCache) putOutdatedWarning(kind schema.GroupKind, warning *outdatedWarning) {
	if c.outdatedWarnings == nil {
		c.outdatedWarnings = map[schema.GroupKind]*outdatedWarning{}
	}
	c.outdatedWarnings[kind] = warning
}

// forget removes what is known of an object, so that it is compared again.
func (c *UpToDateCache) forget(uid types.UID) {
	delete(c.objects, uid)
	if c.target.uid == uid {
		c.target.uid = ""
	}
}

// isTargetUpToDate reports whether nothing of a target is left to write for the pair.
func (c *UpToDateCache) isTargetUpToDate(uid types.UID, desired, observed uint64) bool {
	return c.target.uid == uid && c.target.hashPair == hashPair{desired, observed}
}

// Wrote adds what the host made of what was written: as long as that and what is desired stay,
// writing it again would change nothing.
func (c *UpToDateCache) Wrote(outcomes []pipeline.Outcome) {
	for i, outcome := range outcomes {
		if outcome.Desired != 0 && (len(outcome.Warnings) > 0 || outcome.Result != nil) {
			paths, others := toldUnknown(&outcomes[i])
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
