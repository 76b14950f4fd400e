// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// onChange takes note of a change, of nothing maybe, that some contents have taken in.
func (s *informer) onChange(c *store, before, after *object.Object, version string) {
	c.version = version
	if c == s.current {
		s.distribute(before, after)
		if s.next != nil && (s.next.selection.includes(before) || s.next.selection.includes(after)) {
			s.minVersion = version
		}
	}
	s.switchOver()
}

// onReplace takes note that all objects of some contents have been listed, at a resource
// version. Before are those that were there before.
func (s *informer) onReplace(c *store, before cache.Indexer, version string) {
	c.version = version
	if c == s.current {
		if s.distributeDifference(before, c.indexer) {
			s.minVersion = version
		}
	}
	s.switchOver()
}

// switchOver puts next in the place of current when it is there and not behind it.
func (s *informer) switchOver() {
	if s.next == nil || !s.next.isListed || s.minVersion != "" && !isAtLeast(s.next.version, s.minVersion) {
		return
	}
	former := s.current
	former.cancel()
	s.current, s.next = s.next, nil
	s.distributeDifference(former.indexer, s.current.indexer)
	for user := range s.views {
		if !user.isSynced && s.current.selection.covers(user.selection) {
			s.markSynced(user)
		}
	}
}

// markSynced lets a user read the objects, which are all there that it wants.
func (s *informer) markSynced(user *View) {
	user.isSynced = true
	for subscription := range user.registrations {
		subscription.enqueueInitial()
	}
	close(user.synced)
}

// distributeDifference tells users what is there no longer, what differs and what is new. It returns
// whether any of that is for next, which then has to be up to it: of quiet objects the host
// may say for a minute no more recent version than that of their list.
func (s *informer) distributeDifference(before, after cache.Indexer) (forNext bool) {
	tell := func(was, is *object.Object) {
		if was != nil && is != nil && was.ResourceVersion == is.ResourceVersion {
			return
		}
		s.distribute(was, is)
		forNext = forNext || s.next != nil && (s.next.selection.includes(was) || s.next.selection.includes(is))
	}
	for _, gone := range objects(before.List()) {
		if get(after, gone) == nil {
			tell(gone, nil)
		}
	}
	for _, now := range objects(after.List()) {
		tell(get(before, now), now)
	}
	return forNext
}

func (s *informer) distribute(before, after *object.Object) {
	for user := range s.views {
		if !user.isSynced {
			continue
		}
		for subscription := range user.registrations {
			subscription.enqueue(before, after)
		}
	}
}
