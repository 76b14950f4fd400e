// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// addEventHandlers waits until the caches are filled, and then adds event handlers that enqueue
// parents. The returned function removes the handlers; the caller must call it after an error, too.
func (c *Controller) addEventHandlers(ctx context.Context) (removeHandlers func(), err error) {
	var registrations []*cache.Registration
	removeHandlers = func() {
		for _, registration := range registrations {
			registration.Stop()
		}
	}
	if err := c.WaitForCaches(ctx); err != nil {
		return removeHandlers, err
	}
	add := func(registration *cache.Registration, err error) error {
		if err == nil {
			registrations = append(registrations, registration)
		}
		return err
	}
	for _, target := range c.planner.Observer.Targets {
		if err := add(target.View.AddEventHandler(c.parentChanged)); err != nil {
			return removeHandlers, err
		}
	}
	parents := slices.Clone(registrations)
	c.parentHandlers.Store(&parents)
	// The type of parents may be a child type, too. Children that exist already need no event: all
	// parents are enqueued once at the start.
	for _, view := range c.planner.Observer.Children {
		if err := add(view.AddFilteredHandler(c.mayConcern, c.childChanged)); err != nil {
			return removeHandlers, err
		}
	}
	return removeHandlers, nil
}

// WaitForCaches waits until the controller sees all objects of its types. The error is that of ctx.
func (c *Controller) WaitForCaches(ctx context.Context) error {
	for _, view := range c.views() {
		if err := view.WaitForSync(ctx); err != nil {
			return err
		}
		c.reporter.TypeWarnings(view)
	}
	if c.spec.Rollout != nil && !c.Revisions.WaitForSync(ctx) {
		return ctx.Err()
	}
	return nil
}

// parentChanged counts the parents and enqueues one that changed or is gone.
func (c *Controller) parentChanged(before, after *object.Object, isInInitialList bool) {
	c.reporter.AddParents(c.planner.Observer.CountChange(before, after))
	c.rows.Changed(object.KeyOf(cmp.Or(after, before)))
	switch {
	case after == nil:
		gone := object.KeyOf(before)
		c.planner.Observer.Claims.Forget(gone)
		c.queue.Enqueue(syncqueue.ParentChanged, gone)
	case c.planner.Observer.Ignores(before, after):
	case isInInitialList:
		c.queue.Enqueue(syncqueue.ControllerStarted, object.KeyOf(after))
	case before != nil && before.Hash == after.Hash:
		c.queue.Enqueue(syncqueue.StatusChanged, object.KeyOf(after))
	default:
		c.queue.Enqueue(syncqueue.ParentChanged, object.KeyOf(after))
	}
}

// mayConcern reports whether childChanged may enqueue anything. It must not
// read a cache.
func (c *Controller) mayConcern(before, after *object.Object) bool {
	return c.planner.Observer.MayConcern(before, after) || c.nameConflicts.isWanted(before)
}

// childChanged enqueues the parents of a child, and the parents that want a name that became free.
func (c *Controller) childChanged(before, after *object.Object) {
	c.queue.Enqueue(syncqueue.ChildChanged, c.planner.Observer.ParentsOf(before, after)...)
	c.queue.Enqueue(syncqueue.NameFreed, c.nameConflicts.parentsToRetry(before, after)...)
}

// startResync enqueues all parents in the period of the spec and in that of the process, until stop
// is called.
func (c *Controller) startResync(ctx context.Context) (stop func()) {
	c.resyncs.Store(ticksOf(c.resyncPeriods(), time.Now()))
	return startPeriodic(ctx, c.resyncPeriods(), func() {
		c.queue.Enqueue(syncqueue.Resync, c.allParents()...)
	})
}

// resyncPeriods returns the periods in which all parents are synced again; those that are zero do not count.
func (c *Controller) resyncPeriods() []time.Duration { return []time.Duration{c.spec.Resync, c.Resync} }

// nextResync returns when all parents are synced again; zero if they are not.
func (c *Controller) nextResync(now time.Time) (next time.Time) {
	resyncs := c.resyncs.Load()
	if resyncs == nil {
		return time.Time{}
	}
	for _, ticks := range *resyncs {
		if at := ticks.after(now); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

func (c *Controller) allParents() []object.Key {
	parents := c.planner.Observer.Parents()
	keys := make([]object.Key, len(parents))
	for i, parent := range parents {
		keys[i] = object.KeyOf(parent)
	}
	return keys
}

// ticks are the times at which something is done periodically.
type ticks struct {
	first  time.Time
	period time.Duration
}

// ticksOf returns when startPeriodic calls its function.
func ticksOf(periods []time.Duration, now time.Time) *[]ticks {
	var all []ticks
	for _, period := range periods {
		if period > 0 {
			all = append(all, ticks{now.Add(period), period})
		}
	}
	return &all
}

// after returns the first of the times after now.
func (t ticks) after(now time.Time) time.Time {
	if now.Before(t.first) {
		return t.first
	}
	return t.first.Add((now.Sub(t.first)/t.period + 1) * t.period)
}

// startPeriodic calls do in each of the periods that are not zero, until stop is called.
func startPeriodic(ctx context.Context, periods []time.Duration, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, period := range periods {
		if period > 0 {
			running.Go(func() { runPeriodic(ctx, period, do) })
		}
	}
	return func() { cancel(); running.Wait() }
}

func runPeriodic(ctx context.Context, period time.Duration, do func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}
