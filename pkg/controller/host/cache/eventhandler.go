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
	watch   *View
	concern Filter
	changed Handler
	// initial tells that the changes begin with the objects there are.
	initial bool

	stop func()
	done chan struct{}
	wake chan struct{}

	mu sync.Mutex
	// waiting are the changes that changed is to be told.
	waiting []change
}

type change struct{ before, after *object.Object }

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
	return w.subscribe(all, changed, true)
}

// AddChangeHandler calls changed for each change and not for what the cache is
// filled with. Calls come one at a time.
func (w *View) AddChangeHandler(changed Handler) (*Registration, error) {
	return w.subscribe(all, changed, false)
}

// AddFilteredHandler is AddChangeHandler to those that concern the subscriber.
func (w *View) AddFilteredHandler(concern Filter, changed Handler) (*Registration, error) {
	return w.subscribe(concern, changed, false)
}

func all(_, _ *object.Object) bool { return true }

func (w *View) subscribe(concern Filter, changed Handler, initial bool) (*Registration, error) {
	ctx, cancel := context.WithCancel(w.shared.ctx)
	s := &Registration{
		watch: w, concern: concern, changed: changed, initial: initial,
		stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	if w.ended {
		cancel()
		return nil, fmt.Errorf("subscribe to changes of %s: its watch has been released", w.Type)
	}
	w.subscriptions[s] = struct{}{}
	if w.admitted {
		s.begin()
	}
	go s.run(ctx)
	return s, nil
}

// begin has the objects told that there are.
func (s *Registration) begin() {
	if !s.initial {
		return
	}
	for _, o := range objects(s.watch.shared.current.objects.List()) {
		s.tell(nil, o)
	}
}

// tell has a change told, as far as it is one of what the user wants.
func (s *Registration) tell(before, after *object.Object) {
	if !s.watch.selects(before) {
		before = nil
	}
	if !s.watch.selects(after) {
		after = nil
	}
	if before == nil && after == nil || before != nil && after != nil && before.ResourceVersion == after.ResourceVersion {
		return
	}
	if !s.concern(before, after) {
		return
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, change{before, after})
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
		due := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		for _, change := range due {
			if ctx.Err() != nil {
				return
			}
			s.changed(change.before, change.after)
		}
	}
}

// Stop ends the calls and waits for the one under way.
func (s *Registration) Stop() {
	s.watch.shared.mu.Lock()
	delete(s.watch.subscriptions, s)
	s.watch.shared.mu.Unlock()
	s.stop()
	<-s.done
}

// end stops all subscriptions to a watch that is being released.
func (w *View) end() {
	w.shared.mu.Lock()
	w.ended = true
	left := slices.Collect(maps.Keys(w.subscriptions))
	w.shared.mu.Unlock()
	for _, subscription := range left {
		subscription.Stop()
	}
}
