// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// inputs are what a hook makes its answer from. If they stay as they are, there is no reason
// for another answer.
type inputs struct {
	snapshot *stage.Snapshot
	all      uint64
}

// of is the hash of what a step's wish is made from. For a child this is the parent alone:
// writing children changes them and, through controllers of the host, their status, so
// that a loop would not be seen for its own traces. The parent's status mostly tells about the
// children, and may change as often as they do.
func (i *inputs) of(step *stage.Step) uint64 {
	if step.Op != stage.Status {
		return i.snapshot.Parent.Hash
	}
	if i.all == 0 {
		i.all = hashAll(i.snapshot)
	}
	return i.all
}

func hashAll(snapshot *stage.Snapshot) uint64 {
	sum := snapshot.Parent.Hash
	add := func(objects []*object.Object) {
		for _, object := range objects {
			// The order does not matter, so neither does that of caches.
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
