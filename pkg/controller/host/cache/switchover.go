// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// took takes note of a change, of nothing maybe, that some contents have taken in.
func (s *informer) took(c *contents, before, after *object.Object, version string) {
	c.version = version
	if c == s.current {
		s.tell(before, after)
		if s.next != nil && (s.next.bounds.want(before) || s.next.bounds.want(after)) {
			s.needed = version
		}
	}
	s.handOver()
}

// relisted takes note that all objects of some contents have been listed, at a resource
// version. Before are those that were there before.
func (s *informer) relisted(c *contents, before cache.Indexer, version string) {
	c.version = version
	if c == s.current {
		if s.tellDifference(before, c.objects) {
			s.needed = version
		}
	}
	s.handOver()
}

// handOver puts next in the place of current when it is there and not behind it.
func (s *informer) handOver() {
	if s.next == nil || !s.next.listed || s.needed != "" && !reaches(s.next.version, s.needed) {
		return
	}
	former := s.current
	former.cancel()
	s.current, s.next = s.next, nil
	s.tellDifference(former.objects, s.current.objects)
	for user := range s.users {
		if !user.admitted && s.current.bounds.cover(user.bounds) {
			s.admit(user)
		}
	}
}

// admit lets a user read the objects, which are all there that it wants.
func (s *informer) admit(user *View) {
	user.admitted = true
	for subscription := range user.subscriptions {
		subscription.begin()
	}
	close(user.synced)
}

// tellDifference tells users what is there no longer, what differs and what is new. It returns
// whether any of that is for next, which then has to be up to it: of quiet objects the host
// may say for a minute no more recent version than that of their list.
func (s *informer) tellDifference(before, after cache.Indexer) (forNext bool) {
	tell := func(was, is *object.Object) {
		if was != nil && is != nil && was.ResourceVersion == is.ResourceVersion {
			return
		}
		s.tell(was, is)
		forNext = forNext || s.next != nil && (s.next.bounds.want(was) || s.next.bounds.want(is))
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

func (s *informer) tell(before, after *object.Object) {
	for user := range s.users {
		if !user.admitted {
			continue
		}
		for subscription := range user.subscriptions {
			subscription.tell(before, after)
		}
	}
}
