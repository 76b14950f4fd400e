// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"github.com/cespare/xxhash/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// inputs are what a hook makes its answer from. If they stay as they are, there is no reason
// for another answer.
type inputs struct {
	snapshot *pipeline.Snapshot
	// others is the hash of the objects beside the parent, once it was seen.
	others uint64
	seen   bool
}

// of is the hash of what a step's wish is made from. For a child this is the parent alone:
// writing children changes them and, through controllers of the host, their status, so
// that a loop would not be seen for its own traces. The parent's status, and a target's labels
// and annotations, mostly tell about the children and may change as often as they do; what is
// written there is not what it is made from.
func (i *inputs) of(step *pipeline.Step) uint64 {
	switch step.Op {
	case pipeline.Status:
		return i.parent(i.snapshot.Parent.Hash)
	case pipeline.Metadata:
		return i.parent(hashContent(i.snapshot.Parent))
	default:
		return i.snapshot.Parent.Hash
	}
}

// parent is the hash of what a write of the parent is made from, of which content is the
// parent's own.
func (i *inputs) parent(content uint64) uint64 {
	if !i.seen {
		i.seen, i.others = true, hashOthers(i.snapshot)
	}
	return content + i.others
}

// hashContent is the hash of what an object has beside metadata and status. Its generation
// does not tell: that of a Deployment rises with its annotations too.
func hashContent(o *object.Object) uint64 {
	content := o.JSON()
	for _, written := range []string{"metadata", "status"} {
		if without, err := object.WithMember(content, written, nil); err == nil {
			content = without
		}
	}
	return xxhash.Sum64(content)
}

func hashOthers(snapshot *pipeline.Snapshot) (sum uint64) {
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
