// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// state is the state of the host that a hook makes its answer from. While it stays the same,
// there is no reason for another answer.
type state struct {
	snapshot *pipeline.Snapshot
	// others is the hash of the objects other than the parent, once it is computed.
	others   uint64
	computed bool
}

// hashFor returns the hash of the state that the desired object of a step is made from.
//
// For a child this is the parent without its status. It does not include the children: writing
// children changes them and, through controllers of the host, their status. If that counted, a
// loop would hide itself.
//
// For the parent's status and a target's labels and annotations it includes the children and
// the related objects, because they often describe these and may change as often as they do. It
// leaves out what the step itself writes.
func (s *state) hashFor(step *pipeline.Step) uint64 {
	switch step.Op {
	case pipeline.Status:
		return s.withOthers(s.snapshot.Parent.Hash)
	case pipeline.Metadata:
		return s.withOthers(s.snapshot.Parent.ContentHash())
	default:
		return s.snapshot.Parent.Hash
	}
}

// full returns the hash of all that a hook is shown, but for the status of the parent.
func (s *state) full() uint64 { return s.withOthers(s.snapshot.Parent.Hash) }

// withOthers adds the hash of the objects other than the parent to that of the parent.
func (s *state) withOthers(parent uint64) uint64 {
	if !s.computed {
		s.computed, s.others = true, hashOthers(s.snapshot)
	}
	return parent + s.others
}

// hashOthers returns the hash of the children and the related objects.
func hashOthers(snapshot *pipeline.Snapshot) (sum uint64) {
	add := func(objects []*object.Object) {
		for _, object := range objects {
			// The sum does not depend on the order, which caches do not keep.
			sum += xxhash.Sum64String(string(object.UID) + object.ResourceVersion)
		}
	}
	for _, group := range snapshot.Children {
		add(group.Claimed)
	}
	for _, related := range snapshot.Related {
		add(related.Objects)
	}
	return sum
}
