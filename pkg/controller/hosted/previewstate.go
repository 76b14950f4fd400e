// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// recallInterval is how often a preview looks whether a sync has ended and the caches show what it wrote.
const recallInterval = 10 * time.Millisecond

// recall returns a copy of what syncs of a parent remember that bears on a plan. It waits until no sync
// of the parent is under way and the caches show what the last one wrote, as the next sync does.
func (c *Controller) recall(ctx context.Context, parent *object.Object) (*parentState, error) {
	ticker := time.NewTicker(recallInterval)
	defer ticker.Stop()
	for {
		copied, ok := c.copyState(parent)
		if ok {
			return copied, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("a sync of the parent is under way, or the caches do not show yet what it wrote: %w", context.Cause(ctx))
		}
	}
}

// copyState copies the state of a parent. It is not ok while a sync is under way, or has just written.
func (c *Controller) copyState(parent *object.Object) (copied *parentState, ok bool) {
	state := c.parents.find(object.KeyOf(parent))
	if state == nil {
		return &parentState{}, true
	}
	if !state.mu.TryLock() {
		return nil, false
	}
	defer state.mu.Unlock()
	switch {
	case !state.pending.DropSeen() || !c.revisionsSeen(state):
		return nil, false
	case state.uid != parent.UID:
		return &parentState{}, true // it remembers an earlier parent of the same name
	}
	copied = &parentState{uid: state.uid, bytes: state.bytes, upToDate: state.upToDate.Clone()}
	if state.rollout != nil {
		copied.ensureRollout().versions = state.rollout.versions
	}
	return copied, true
}
