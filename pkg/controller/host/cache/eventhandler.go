// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Registration is told the changes of a watch until it is stopped.
type Registration struct {
	view   *View
	filter Filter
	handler Handler
	// withInitial tells that the changes begin with the objects there are.
	withInitial bool

	stop func()
	done chan struct{}
	wake chan struct{}

	mu sync.Mutex
	// pending are the changes that changed is to be told.
	pending []event
}

type event struct{ before, after *object.Object }

// Handler is told a change of an object: before is nil when it is new, after when it
// is gone.
type Handler func(before, after *object.Object)

// Filter tells by the objects alone whether a change of one is worth telling. Where many have subscribed, most
// changes concern few of them, and to wake the others would take most of the time. It is asked while the cache is
// locked, and would wait for ever if it read this or any other cache.
type Filter func(before, after *object.Object) bool

// Subscribe calls changed for each object there is and then for each change. Calls
// come one at a time.
func (w *View) AddEventHandler(changed Handler) (*Registration, error) {
	return w.addHandler(everyChange, changed, true)
}

// AddChangeHandler calls changed for each change and not for what the cache is
// filled with. Calls come one at a time.
func (w *View) AddChangeHandler(changed Handler) (*Registration, error) {
	return w.addHandler(everyChange, changed, false)
}

// AddFilteredHandler is AddChangeHandler to those that concern the subscriber.
func (w *View) AddFilteredHandler(concern Filter, changed Handler) (*Registration, error) {
	return w.addHandler(concern, changed, false)
}

func everyChange(_, _ *object.Object) bool { return true }

func (w *View) addHandler(concern Filter, changed Handler, initial bool) (*Registration, error) {
	ctx, cancel := context.WithCancel(w.informer.ctx)
	s := &Registration{
		view: w, filter: concern, handler: changed, withInitial: initial,
		stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	w.informer.mu.Lock()
	defer w.informer.mu.Unlock()
	if w.isReleased {
		cancel()
		return nil, fmt.Errorf("subscribe to changes of %s: its watch has been released", w.Type)
	}
	w.registrations[s] = struct{}{}
	if w.isSynced {
		s.enqueueInitial()
	}
	go s.run(ctx)
	return s, nil
}

// enqueueInitial has the objects told that there are.
func (s *Registration) enqueueInitial() {
	if !s.withInitial {
		return
	}
	for _, o := range objects(s.view.informer.current.indexer.List()) {
		s.enqueue(nil, o)
	}
}

// enqueue has a change told, as far as it is one of what the user wants.
func (s *Registration) enqueue(before, after *object.Object) {
	if !s.view.selects(before) {
		before = nil
	}
	if !s.view.selects(after) {
		after = nil
	}
	if before == nil && after == nil || before != nil && after != nil && before.ResourceVersion == after.ResourceVersion {
		return
	}
	if !s.filter(before, after) {
		return
	}
	s.mu.Lock()
	s.pending = append(s.pending, event{before, after})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run makes the calls.
func (s *Registration) run(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		due := s.pending
		s.pending = nil
		s.mu.Unlock()
		for _, change := range due {
			if ctx.Err() != nil {
				return
			}
			s.handler(change.before, change.after)
		}
	}
}

// Stop ends the calls and waits for the one under way.
func (s *Registration) Stop() {
	s.view.informer.mu.Lock()
	delete(s.view.registrations, s)
	s.view.informer.mu.Unlock()
	s.stop()
	<-s.done
}

// markReleased stops all subscriptions to a watch that is being released.
func (w *View) markReleased() {
	w.informer.mu.Lock()
	w.isReleased = true
	left := slices.Collect(maps.Keys(w.registrations))
	w.informer.mu.Unlock()
	for _, subscription := range left {
		subscription.Stop()
	}
}
