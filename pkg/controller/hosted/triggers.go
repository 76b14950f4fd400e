// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// subscribe waits until the caches are filled and then has changes lead to syncs.
// What it returns undoes what has been done so far, also after an error.
func (c *Controller) subscribe(ctx context.Context) (unsubscribe func(), err error) {
	var subscriptions []*host.Subscription
	unsubscribe = func() {
		for _, subscription := range subscriptions {
			subscription.Stop()
		}
	}
	for _, watch := range c.watches() {
		if err := watch.WaitForSync(ctx); err != nil {
			return unsubscribe, err
		}
	}
	if c.spec.Rollout != nil && !c.Revisions.WaitForSync(ctx) {
		return unsubscribe, ctx.Err()
	}
	add := func(subscription *host.Subscription, err error) error {
		if err == nil {
			subscriptions = append(subscriptions, subscription)
		}
		return err
	}
	for _, target := range c.observer.Targets {
		if err := add(target.Watch.Subscribe(c.parentChanged)); err != nil {
			return unsubscribe, err
		}
	}
	// The type of parents may be one of them. The children there are need not be told: all
	// parents are synced once, and that is yet to come.
	for _, watch := range c.observer.Children {
		if err := add(watch.SubscribeToSome(c.mayConcern, c.childChanged)); err != nil {
			return unsubscribe, err
		}
	}
	return unsubscribe, nil
}

func (c *Controller) parentChanged(before, after *object.Object) {
	c.parents.total.Add(int64(c.observer.CountChange(before, after)))
	switch {
	case after == nil:
		gone := pipeline.KeyOf(before)
		c.observer.Claims.Forget(gone)
		c.queue.Enqueue(gone)
	case !c.observer.Ignores(before, after):
		c.queue.Enqueue(pipeline.KeyOf(after))
	}
}

// mayConcern tells by a child alone whether childChanged has anything to do.
func (c *Controller) mayConcern(before, after *object.Object) bool {
	return c.observer.MayConcern(before, after) || c.nameConflicts.isWanted(before)
}

func (c *Controller) childChanged(before, after *object.Object) {
	c.queue.Enqueue(c.observer.ParentsOf(before, after)...)
	c.queue.Enqueue(c.nameConflicts.parentsToRetry(before, after)...)
}

// startResync has all parents synced again in the period of the spec and in that of the
// process, until stop is called.
func (c *Controller) startResync(ctx context.Context) (stop func()) {
	return startPeriodic(ctx, []time.Duration{c.spec.Resync, c.Resync}, func() { c.queue.EnqueueLowPriority(c.allParents()...) })
}

func (c *Controller) allParents() []pipeline.Key {
	parents := c.observer.Parents()
	keys := make([]pipeline.Key, len(parents))
	for i, parent := range parents {
		keys[i] = pipeline.KeyOf(parent)
	}
	return keys
}

// startPeriodic calls again in each of the periods that are not zero, until stop is called.
func startPeriodic(ctx context.Context, periods []time.Duration, again func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, period := range periods {
		if period > 0 {
			running.Go(func() { runPeriodic(ctx, period, again) })
		}
	}
	return func() { cancel(); running.Wait() }
}

func runPeriodic(ctx context.Context, period time.Duration, again func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			again()
		case <-ctx.Done():
			return
		}
	}
}
