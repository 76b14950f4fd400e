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
)

// shared is what the watches of a type have in common: the objects that at least one of
// them is of, which one watch of the host keeps up to date.
type informer struct {
	client *host.Client
	scope  scope
	ctx    context.Context
	// running are the reflectors.
	running sync.WaitGroup
	// expiry stops the informer while it lingers without a view; nil if it has one. It is guarded
	// by the lock of the Informers.
	expiry *time.Timer

	mu    sync.RWMutex
	users map[*View]struct{}
	// current is what users read, nothing at first. Next is filled to take its place; nil
	// if current is as it should be.
	current, next *contents
	// needed is the resource version that next has to be up to before it does: current
	// has shown a change of that version, and what it has shown stays true.
	needed string
	// byNamespace tells that the objects are indexed by namespace.
	byNamespace bool
	// failure is why the host last refused to list; nil if it never did.
	failure error
	// hasRefused is closed when it does so first.
	hasRefused chan struct{}
}

func newInformer(ctx context.Context, client *host.Client, what scope) *informer {
	s := &informer{
		client: client, scope: what, ctx: ctx,
		users: map[*View]struct{}{}, hasRefused: make(chan struct{}),
	}
	s.current = &contents{of: s, cancel: func() {}}
	s.current.objects = s.current.empty()
	return s
}

// join adds a user. If the objects it wants are neither there nor coming, they are asked for.
func (s *informer) join(user *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[user] = struct{}{}
	if s.current.bounds.cover(user.bounds) {
		s.admit(user)
	}
	coming := s.current
	if s.next != nil {
		coming = s.next
	}
	if !coming.bounds.cover(user.bounds) {
		s.adjust()
	}
}

// leave takes a user out, and returns how many are left. The objects that only it wanted
// stay, see narrow; those that had still to come need not.
func (s *informer) leave(user *View) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, user)
	if s.next != nil {
		s.adjust()
	}
	return len(s.users)
}

// narrow drops objects that no user wants any more, some time after that came to be so.
// It is called when the host has ended a watch and there is to be another, which is
// every five to ten minutes: often enough to give memory back, and not so often that
// users who come and go have the host list the objects again and again.
func (s *informer) narrow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.adjust()
	}
}

// adjust sees to it that what users read is, or soon will be, within the bounds of what
// they want.
func (s *informer) adjust() {
	each := make([]bounds, 0, len(s.users))
	for user := range s.users {
		each = append(each, user.bounds)
	}
	wanted := unionOf(each).asked()
	if !wanted.some || s.next != nil && s.next.bounds.equal(wanted) {
		return
	}
	if s.next != nil {
		s.next.cancel()
		s.next = nil
	}
	if !s.current.bounds.equal(wanted) {
		s.next, s.needed = &contents{of: s, bounds: wanted}, ""
		s.next.objects = s.next.empty()
		s.next.fill()
	}
}

// isUpToDate reports whether the objects have been listed and the host lets them be watched.
func (s *informer) isUpToDate() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current.listed && s.current.blind.since.IsZero()
}

// stop ends the watch of the host, and waits until it has ended.
func (s *informer) stop() {
	s.mu.Lock()
	s.current.cancel()
	if s.next != nil {
		s.next.cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// indexByNamespace has the objects indexed by namespace.
func (s *informer) indexByNamespace() {
	s.mu.RLock()
	there := s.byNamespace
	s.mu.RUnlock()
	if there {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byNamespace {
		return
	}
	s.byNamespace = true
	for _, c := range []*contents{s.current, s.next} {
		if c != nil {
			// It fails only if there is an index of that name.
			_ = c.objects.AddIndexers(cache.Indexers{byNamespace: cache.MetaNamespaceIndexFunc})
		}
	}
}

// read returns the objects that users read.
func (s *informer) read() cache.Indexer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current.objects
}

// refused takes note that the host refuses to list.
func (s *informer) refused(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		close(s.hasRefused)
	}
	s.failure = fmt.Errorf("failed to list %s: %w", s.scope.of, err)
}

// blindness is why the host has let nothing be watched for that long of what a user reads, or
// waits for; nil if it has. How others fare who want more is nothing to the user.
func (s *informer) blindness(user *View, patience time.Duration) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := s.current
	if !user.admitted && s.next != nil {
		of = s.next
	}
	if of.blind.since.IsZero() || time.Since(of.blind.since) < patience {
		return nil
	}
	return of.blind.why
}
