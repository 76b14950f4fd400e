// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// informer keeps the objects of one scope for all its views. Normally it has one store. While a
// wider scope is being listed, it has a second store, which then replaces the first.
type informer struct {
	client *host.Client
	scope  scope
	ctx    context.Context
	// running counts the reflectors.
	running sync.WaitGroup
	// expiry stops the informer while it lingers without a view; nil if it has a view. The lock of
	// the Informers guards it.
	expiry *time.Timer

	mu    sync.RWMutex
	views map[*View]struct{}
	// current is the store that views read; at first it is empty. Next is filled to replace it; nil
	// if current has the selection that the views need.
	current, next *store
	// minVersion is the resource version that next must reach before it replaces current: current
	// has shown a change of that version.
	minVersion string
	// rewinds counts the lists at an earlier resource version than the informer had already shown.
	rewinds int
	// onDemand are the indexes that a view has asked for.
	onDemand cache.Indexers
	// warnings are the warnings in the host's last response to a list or watch: they are about the type.
	warnings []string
	// listError is the error with which the host last refused to list; nil if it never did.
	listError error
	// listFailed is closed when the host first refuses to list.
	listFailed chan struct{}
}

func newInformer(ctx context.Context, client *host.Client, what scope) *informer {
	i := &informer{
		client: client, scope: what, ctx: ctx,
		views: map[*View]struct{}{}, onDemand: cache.Indexers{}, listFailed: make(chan struct{}),
	}
	i.current = &store{informer: i, cancel: func() {}}
	i.current.indexer = i.current.newIndexer()
	return i
}

// addView adds a view. It starts another store if neither store has all objects of the view.
func (i *informer) addView(view *View) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.views[view] = struct{}{}
	if i.current.selection.covers(view.selection) {
		i.markSynced(view)
	}
	latest := i.current
	if i.next != nil {
		latest = i.next
	}
	if !latest.selection.covers(view.selection) {
		i.updateNext()
	}
}

// removeView removes a view and returns how many are left. The objects that only this view selected
// stay until narrow is called. A next store that only this view needed is dropped at once.
func (i *informer) removeView(view *View) (left int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.views, view)
	if i.next != nil {
		i.updateNext()
	}
	return len(i.views)
}

// narrow drops the objects that no view selects any longer. It is called when the host has ended a watch and the
// reflector is about to start another one, which is every five to ten minutes. That is often enough to give memory
// back, and so rare that the host does not list the objects each time a view comes or goes.
func (i *informer) narrow() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.next == nil {
		i.updateNext()
	}
}

// updateNext makes the stores match the union of the selectors of all views: it starts, restarts, or drops the next
// store.
func (i *informer) updateNext() {
	selections := make([]selectorUnion, 0, len(i.views))
	for view := range i.views {
		selections = append(selections, view.selection)
	}
	wanted := unionOf(selections).expressible()
	if !wanted.nonEmpty || i.next != nil && i.next.selection.equal(wanted) {
		return
	}
	if i.next != nil {
		i.next.cancel()
		i.next = nil
	}
	if !i.current.selection.equal(wanted) {
		i.next, i.minVersion = &store{informer: i, selection: wanted}, ""
		i.next.indexer = i.next.newIndexer()
		i.next.start()
	}
}

// isUpToDate reports whether the objects have been listed and the host lets them be watched.
func (i *informer) isUpToDate() bool {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.current.isListed && i.current.trouble.err(0) == nil
}

// stop stops the reflectors and waits until they have ended.
func (i *informer) stop() {
	i.mu.Lock()
	i.current.cancel()
	if i.next != nil {
		i.next.cancel()
	}
	i.mu.Unlock()
	i.running.Wait()
}

// indexer returns the objects that views read.
func (i *informer) indexer() cache.Indexer {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.current.indexer
}

// onListError records that the host refuses to list. It is called with the lock held.
func (i *informer) onListError(err error) {
	if i.listError == nil {
		close(i.listFailed)
	}
	i.listError = fmt.Errorf("failed to list %s: %w", i.scope.of, err)
}

// storeOf returns the store that a view reads or waits for. Errors of a store that serves only other views do not
// affect the view. The caller holds the lock.
func (i *informer) storeOf(view *View) *store {
	if !view.isSynced && i.next != nil {
		return i.next
	}
	return i.current
}

// watchError returns what has kept the store of a view from following the host for at least minAge;
// nil if nothing has.
func (i *informer) watchError(view *View, minAge time.Duration) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.storeOf(view).trouble.err(minAge)
}

// waitsSince returns since when a view waits for the end of the list; zero if it is synced.
func (i *informer) waitsSince(view *View) time.Time {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if view.isSynced {
		return time.Time{}
	}
	return i.storeOf(view).started
}

// This file distributes what happens in the stores to the views, and replaces the current store by
// the next one. All methods are called with the informer's lock held.

// onChange is called when a store has stored a change and is at a resource version. Both objects
// are nil if only the version has changed.
func (i *informer) onChange(s *store, before, after *object.Object, version string) {
	s.version = version
	if s == i.current {
		i.distribute(before, after)
		if i.isForNext(before, after) {
			i.minVersion = version
		}
	}
	i.switchOver()
}

// onReplace is called when a store has listed all objects at a resource version. Before has the
// objects that it had until then.
func (i *informer) onReplace(s *store, before cache.Indexer, version string) {
	if s == i.current && s.version != "" && !isAtLeast(version, s.version) {
		i.rewinds++
		i.minVersion = ""
	}
	s.version = version
	if s == i.current {
		if i.distributeDifference(before, s.indexer) {
			i.minVersion = version
		}
	}
	i.switchOver()
}

// switchOver replaces current by next if next has been listed and has reached minVersion.
func (i *informer) switchOver() {
	if i.next == nil || !i.next.isListed || i.minVersion != "" && !isAtLeast(i.next.version, i.minVersion) {
		return
	}
	former := i.current
	former.cancel()
	i.current, i.next = i.next, nil
	i.distributeDifference(former.indexer, i.current.indexer)
	for view := range i.views {
		if !view.isSynced && i.current.selection.covers(view.selection) {
			i.markSynced(view)
		}
	}
}

// markSynced lets a view show the objects. Current has all that it selects.
func (i *informer) markSynced(view *View) {
	view.isSynced = true
	for registration := range view.registrations {
		registration.enqueueInitial()
	}
	close(view.synced)
}

// distributeDifference distributes the changes from before to after. It reports whether next must show any of them.
// Only then must next reach the version of the list: while no object changes, the host may send no newer version
// than the version of next's own list for a minute.
func (i *informer) distributeDifference(before, after cache.Indexer) (anyForNext bool) {
	distribute := func(was, is *object.Object) {
		if was != nil && is != nil && was.ResourceVersion == is.ResourceVersion {
			return
		}
		i.distribute(was, is)
		anyForNext = anyForNext || i.isForNext(was, is)
	}
	for _, gone := range objects(before.List()) {
		if get(after, gone) == nil {
			distribute(gone, nil)
		}
	}
	for _, now := range objects(after.List()) {
		distribute(get(before, now), now)
	}
	return anyForNext
}

// isForNext reports whether next has to show a change.
func (i *informer) isForNext(before, after *object.Object) bool {
	return i.next != nil && (i.next.selection.includes(before) || i.next.selection.includes(after))
}

// distribute enqueues a change for the event handlers of the views that are synced.
func (i *informer) distribute(before, after *object.Object) {
	for view := range i.views {
		if !view.isSynced {
			continue
		}
		for registration := range view.registrations {
			registration.enqueue(before, after)
		}
	}
}
