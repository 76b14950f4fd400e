// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

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

// distributeDifference distributes the changes from before to after. It reports whether next must
// show any of them. Only then must next reach the version of the list: while no object changes, the
// host may send no newer version than that of next's own list for a minute.
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
