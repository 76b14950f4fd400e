// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// UpToDateCache remembers of the objects of one parent what was desired and observed
// when nothing was left to write, so that it need not be worked out again. The
// zero value remembers nothing. It is not safe for concurrent use.
type UpToDateCache struct {
	objects map[types.UID]hashPair
	// target is of the labels and annotations of a decorator's target, and of the status
	// that is written with them.
	target struct {
		uid types.UID
		hashPair
	}
}

// hashPair is a pair of hashes: of what the hook wanted and of what the host had.
type hashPair struct{ desired, observed uint64 }

// Is tells whether nothing was left to write for the pair.
func (s *UpToDateCache) Is(uid types.UID, desired, observed uint64) bool {
	at, known := s.objects[uid]
	return known && at == hashPair{desired, observed}
}

// Put remembers that nothing is left to write for the pair.
func (s *UpToDateCache) Put(uid types.UID, desired, observed uint64) {
	if s.objects == nil {
		s.objects = map[types.UID]hashPair{}
	}
	s.objects[uid] = hashPair{desired, observed}
}

// isTargetUpToDate tells whether nothing was left to write of a target for the pair.
func (s *UpToDateCache) isTargetUpToDate(uid types.UID, desired, observed uint64) bool {
	return s.target.uid == uid && s.target.hashPair == hashPair{desired, observed}
}

// Wrote remembers what the host made of what was written, or kept when it was asked:
// as long as it stays so and nothing else is desired, writing it again would change nothing.
func (s *UpToDateCache) Wrote(outcomes []pipeline.Outcome) {
	for _, outcome := range outcomes {
		switch result := outcome.Result; {
		case result == nil:
		case outcome.Op.YieldsDesired():
			s.Put(result.UID, outcome.Desired, result.Hash)
		case outcome.Op == pipeline.Status:
			s.Put(result.UID, outcome.Desired, xxhash.Sum64(result.Lookup("status")))
		case outcome.Op == pipeline.Metadata:
			s.target.uid = result.UID
			s.target.hashPair = hashPair{outcome.Desired, hashTarget(outcome.Type, result)}
		}
	}
}

// Prune forgets the objects that the snapshot no longer shows.
func (s *UpToDateCache) Prune(snapshot *pipeline.Snapshot) {
	shown := 1
	for _, group := range snapshot.Children {
		shown += len(group.Claimed)
	}
	if len(s.objects) <= shown {
		return
	}
	kept := make(map[types.UID]hashPair, shown)
	keep := func(uid types.UID) {
		if at, known := s.objects[uid]; known {
			kept[uid] = at
		}
	}
	keep(snapshot.Parent.UID)
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			keep(child.UID)
		}
	}
	s.objects = kept
}
