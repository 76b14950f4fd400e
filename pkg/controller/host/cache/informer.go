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
	views map[*View]struct{}
	// current is what users read, nothing at first. Next is filled to take its place; nil
	// if current is as it should be.
	current, next *store
	// minVersion is the resource version that next has to be up to before it does: current
	// has shown a change of that version, and what it has shown stays true.
	minVersion string
	// hasNamespaceIndex tells that the objects are indexed by namespace.
	hasNamespaceIndex bool
	// listError is why the host last refused to list; nil if it never did.
	listError error
	// listFailed is closed when it does so first.
	listFailed chan struct{}
}

func newInformer(ctx context.Context, client *host.Client, what scope) *informer {
	s := &informer{
		client: client, scope: what, ctx: ctx,
		views: map[*View]struct{}{}, listFailed: make(chan struct{}),
	}
	s.current = &store{informer: s, cancel: func() {}}
	s.current.indexer = s.current.newIndexer()
	return s
}

// addView adds a user. If the objects it wants are neither there nor coming, they are asked for.
func (s *informer) addView(user *View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[user] = struct{}{}
	if s.current.selection.covers(user.selection) {
		s.markSynced(user)
	}
	coming := s.current
	if s.next != nil {
		coming = s.next
	}
	if !coming.selection.covers(user.selection) {
		s.updateNext()
	}
}

// removeView takes a user out, and returns how many are left. The objects that only it wanted
// stay, see narrow; those that had still to come need not.
func (s *informer) removeView(user *View) (left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, user)
	if s.next != nil {
		s.updateNext()
	}
	return len(s.views)
}

// narrow drops objects that no user wants any more, some time after that came to be so.
// It is called when the host has ended a watch and there is to be another, which is
// every five to ten minutes: often enough to give memory back, and not so often that
// users who come and go have the host list the objects again and again.
func (s *informer) narrow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.updateNext()
	}
}

// updateNext sees to it that what users read is, or soon will be, within the bounds of what
// they want.
func (s *informer) updateNext() {
	each := make([]selectorUnion, 0, len(s.views))
	for user := range s.views {
		each = append(each, user.selection)
	}
	wanted := unionOf(each).expressible()
	if !wanted.nonEmpty || s.next != nil && s.next.selection.equal(wanted) {
		return
	}
	if s.next != nil {
		s.next.cancel()
		s.next = nil
	}
	if !s.current.selection.equal(wanted) {
		s.next, s.minVersion = &store{informer: s, selection: wanted}, ""
		s.next.indexer = s.next.newIndexer()
		s.next.start()
	}
}

// isUpToDate reports whether the objects have been listed and the host lets them be watched.
func (s *informer) isUpToDate() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current.isListed && s.current.watchFailure.since.IsZero()
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
	there := s.hasNamespaceIndex
	s.mu.RUnlock()
	if there {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hasNamespaceIndex {
		return
	}
	s.hasNamespaceIndex = true
	for _, c := range []*store{s.current, s.next} {
		if c != nil {
			// It fails only if there is an index of that name.
			_ = c.indexer.AddIndexers(cache.Indexers{byNamespace: cache.MetaNamespaceIndexFunc})
		}
	}
}

// indexer returns the objects that users read.
func (s *informer) indexer() cache.Indexer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current.indexer
}

// onListError takes note that the host refuses to list.
func (s *informer) onListError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listError == nil {
		close(s.listFailed)
	}
	s.listError = fmt.Errorf("failed to list %s: %w", s.scope.of, err)
}

// watchError is why the host has let nothing be watched for that long of what a user reads, or
// waits for; nil if it has. How others fare who want more is nothing to the user.
func (s *informer) watchError(user *View, patience time.Duration) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := s.current
	if !user.isSynced && s.next != nil {
		of = s.next
	}
	if of.watchFailure.since.IsZero() || time.Since(of.watchFailure.since) < patience {
		return nil
	}
	return of.watchFailure.why
}
