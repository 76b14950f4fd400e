// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
)

// triggers enqueues the parents of a controller; syncqueue.Cause lists the causes.
type triggers struct {
	spec     *Spec
	observer *observe.Observer
	queue    *syncqueue.Queue
	// rows and tracker are notified of changes of parents.
	rows          *rows.Rows
	tracker       *status.Tracker
	nameConflicts *nameConflicts
	// requests are the parents to sync although nothing has changed.
	requests *resyncRequests
	// periods are the periods in which all parents are synced again; those that are zero do not count.
	periods []time.Duration
	// resyncs are the timers at which all parents are synced again, or nil before they start.
	resyncs atomic.Pointer[[]ticks]
	// parentHandlers count the parents; nil until they are added.
	parentHandlers atomic.Pointer[[]*cache.Registration]
}

// addEventHandlers adds event handlers that enqueue parents. The caches must be filled. The returned function removes
// the handlers; the caller must also call it after an error.
func (t *triggers) addEventHandlers() (removeHandlers func(), err error) {
	var registrations []*cache.Registration
	removeHandlers = func() {
		for _, registration := range registrations {
			registration.Stop()
		}
	}
	add := func(registration *cache.Registration, err error) error {
		if err == nil {
			registrations = append(registrations, registration)
		}
		return err
	}
	for _, target := range t.observer.Targets {
		if err := add(target.View.AddEventHandler(t.parentChanged)); err != nil {
			return removeHandlers, err
		}
	}
	parents := slices.Clone(registrations)
	t.parentHandlers.Store(&parents)
	// The type of parents may be a child type, too. Children that exist already need no event: all
	// parents are enqueued once at the start.
	for _, view := range t.observer.Children {
		if err := add(view.AddFilteredHandler(t.mayConcern, t.childChanged)); err != nil {
			return removeHandlers, err
		}
	}
	return removeHandlers, nil
}

// IsCounted reports whether the number of parents is known: the controller sees all objects of its
// types, and its handlers have counted the parents among them.
func (t *triggers) IsCounted() bool {
	handlers := t.parentHandlers.Load()
	return handlers != nil && !slices.ContainsFunc(*handlers,
		func(handler *cache.Registration) bool { return !handler.HasDelivered() })
}

// parentChanged counts the parents and enqueues one that changed or is gone.
func (t *triggers) parentChanged(before, after *object.Object, isInInitialList bool) {
	t.tracker.AddParents(t.observer.CountChange(before, after))
	t.rows.Changed(object.KeyOf(cmp.Or(after, before)))
	switch {
	case after == nil:
		gone := object.KeyOf(before)
		t.observer.Claims.Forget(gone)
		t.queue.Enqueue(syncqueue.ParentChanged, gone)
	case t.observer.Ignores(before, after):
	case isInInitialList:
		t.queue.Enqueue(syncqueue.ControllerStarted, object.KeyOf(after))
	case before != nil && before.Hash == after.Hash:
		t.queue.Enqueue(syncqueue.StatusChanged, object.KeyOf(after))
	default:
		t.queue.Enqueue(syncqueue.ParentChanged, object.KeyOf(after))
	}
}

// mayConcern reports whether childChanged may enqueue anything. It must not
// read a cache.
func (t *triggers) mayConcern(before, after *object.Object) bool {
	return t.observer.MayConcern(before, after) || t.nameConflicts.isWanted(before)
}

// childChanged enqueues the parents of a child, and the parents that want a name that became free.
func (t *triggers) childChanged(before, after *object.Object) {
	t.queue.Enqueue(syncqueue.ChildChanged, t.observer.ParentsOf(before, after)...)
	t.queue.Enqueue(syncqueue.NameFreed, t.nameConflicts.parentsToRetry(before, after)...)
}

// revisionRestored enqueues the parents to which a revision belongs that something else created: the one that controls
// it or, if none does, all that may adopt it.
func (t *triggers) revisionRestored(revision *v1alpha1.ControllerRevision) {
	if controller := metav1.GetControllerOfNoCopy(revision); controller != nil {
		kind := schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind()
		for _, namespace := range [...]string{revision.Namespace, ""} {
			key := object.Key{GroupKind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: controller.Name}}
			if parent := t.observer.Get(key); parent != nil && parent.UID == controller.UID {
				t.queue.Enqueue(syncqueue.RevisionRestored, key)
			}
		}
		return
	}
	for _, parent := range t.observer.Parents() {
		if t.spec.Rollout.NamespaceOf(parent) == revision.Namespace {
			t.queue.Enqueue(syncqueue.RevisionRestored, object.KeyOf(parent))
		}
	}
}

func (t *triggers) allParents() []object.Key {
	parents := t.observer.Parents()
	keys := make([]object.Key, len(parents))
	for i, parent := range parents {
		keys[i] = object.KeyOf(parent)
	}
	return keys
}

// RequestSyncs enqueues the selected parents soon, unless onlyCount is true. It returns how many there are, and how
// many more are paused and stay so.
func (t *triggers) RequestSyncs(selection Selection, onlyCount bool) (parents, paused int) {
	var selected []object.Key
	for _, parent := range t.observer.Parents() {
		switch {
		case !selection.selects(parent):
		case t.spec.pauses(parent):
			paused++
		default:
			selected = append(selected, object.KeyOf(parent))
		}
	}
	if !onlyCount {
		t.requests.add(syncqueue.Asked, selected)
	}
	return len(selected), paused
}

// resyncAll enqueues all parents soon because of an object.
func (t *triggers) resyncAll(ctx context.Context, because WatchedObject) {
	klog.FromContext(ctx).Info("Syncing all parents again, because an object of spec.resyncOn has changed", "object",
		because.Name, "kind", because.Type.Kind)
	t.requests.add(syncqueue.Resync, t.allParents())
}

// startResync enqueues all parents in the period of the spec and in the period of the process, until stop is called.
func (t *triggers) startResync(ctx context.Context) (stop func()) {
	t.resyncs.Store(ticksOf(t.periods, time.Now()))
	return startPeriodic(ctx, t.periods, func() {
		t.queue.Enqueue(syncqueue.Resync, t.allParents()...)
	})
}

// nextResync returns when all parents are synced again; zero if they are not.
func (t *triggers) nextResync(now time.Time) (next time.Time) {
	resyncs := t.resyncs.Load()
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

// startResyncRequests enqueues the parents of requests until stop is called.
func (t *triggers) startResyncRequests(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { t.requests.run(ctx, t.queue.Enqueue) })
	return func() { cancel(); running.Wait() }
}
