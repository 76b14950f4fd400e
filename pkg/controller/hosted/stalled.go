// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// A sync may end without success and without a failure, because it has to wait for something: that
// others leave an object alone, that the hook takes calls again, or that a child goes. This is
// normal for a short time, and changes nothing in the health of the controller. But it is no state
// to stay in: after stallThreshold, the parent is failing.

// stallThreshold is how long syncs of a parent may wait before that counts as a failure.
const stallThreshold = time.Minute

// reportUnfinished notes that a sync ended without success and without a failure, because of why.
// It returns next, or an earlier time if the parent is failing from then on. A hook that wants a
// pause longer than stallThreshold makes the parent failing at once.
func (c *Controller) reportUnfinished(ctx context.Context, key object.Key, state *parentState, why error, next syncqueue.Result) syncqueue.Result {
	now := time.Now()
	if state.unfinishedSince == 0 {
		state.unfinishedSince = now.UnixNano()
	}
	since := time.Unix(0, state.unfinishedSince)
	left := since.Add(stallThreshold).Sub(now)
	throttled, _ := errors.AsType[*hook.ThrottledError](why)
	state.note = &syncNote{v1alpha1.SyncStateWaiting, why.Error()}
	switch {
	case left <= 0:
	case throttled == nil || throttled.After == 0:
		return next.Within(left)
	case throttled.After < stallThreshold: // the hook must not be called before
		return next
	}
	c.reportStalled(ctx, key, state, fmt.Errorf("the sync has not succeeded since %s, and waits: %w", since.UTC().Format(time.RFC3339), why), since)
	return next
}

// reportLeaving notes that a sync has done all that it could, and that the parent is not as the hook
// wants it until a child is gone.
func (c *Controller) reportLeaving(ctx context.Context, key object.Key, state *parentState, result syncResult) syncqueue.Result {
	next := syncqueue.Done(result.resyncAfter)
	child := result.leaving
	// A child that is given time to end gracefully is to be gone at its time of deletion.
	due := child.DeletionTimestamp.Time
	if left := time.Until(due.Add(stallThreshold)); left > 0 {
		c.updateHealth(key, nil)
		state.syncErrorEvents = eventDeduplicator{}
		state.note = &syncNote{v1alpha1.SyncStateWaiting, fmt.Sprintf("the child %s is being deleted", child)}
		return next.Within(left)
	}
	why := "it has no finalizers, so the cluster or its garbage collector still has to delete it"
	if len(child.Finalizers) > 0 {
		why = fmt.Sprintf("its finalizers are %q, and their owners have to remove them", child.Finalizers)
	}
	c.reportStalled(ctx, key, state, fmt.Errorf("the child %s should have been gone since %s: %s", child, due.UTC().Format(time.RFC3339), why), due)
	return next
}

// reportStalled notes that a parent is failing because its syncs have waited since that time.
func (c *Controller) reportStalled(ctx context.Context, key object.Key, state *parentState, err error, since time.Time) {
	c.updateHealth(key, err)
	// What is waited for may differ each time. One event says enough about one wait.
	parent := c.observer.Get(key)
	if parent == nil || !state.syncErrorEvents.markIfDue("stalled "+since.String(), time.Now()) {
		return
	}
	klog.FromContext(ctx).Error(err, "Sync stalled")
	c.Events.SyncStalled(parent, err)
}

// longestLeaving returns the child that has been being deleted for the longest time; nil if none is,
// or if the children are left to the host.
func longestLeaving(snapshot *pipeline.Snapshot) (longest *object.Object) {
	if !snapshot.Managed {
		return nil
	}
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp != nil && (longest == nil || child.DeletionTimestamp.Before(longest.DeletionTimestamp)) {
				longest = child
			}
		}
	}
	return longest
}
