// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Handler handles a change of an object: before is nil if the object is new, after is nil if it is
// gone. Changes that come while the handler is busy are joined, see backlog.
type Handler func(before, after *object.Object)

// InitialHandler is a Handler that also handles the objects that existed when it was added: isInInitialList
// reports whether the object is one of these.
type InitialHandler func(before, after *object.Object, isInInitialList bool)

// Filter reports whether a handler is called for a change. Where a type has many handlers, most
// changes concern few of them, and most of the time would be spent on waking the others. A filter
// runs with the informer's lock held: it must not read this cache or another one, or it would block.
type Filter func(before, after *object.Object) bool

// Registration is a handler that was added to a view. It is called until the registration is
// stopped or the view is released.
type Registration struct {
	view    *View
	filter  Filter
	handler InitialHandler
	// withInitial is true if the handler is also called for the objects that exist already.
	withInitial bool

	stop func()
	done chan struct{}
	wake chan struct{}

	mu      sync.Mutex
	pending backlog
	// delivered is true once the handler was called for the objects that existed when it was added.
	delivered atomic.Bool
}

// HasDelivered reports whether the handler has been called for all objects that existed when it was
// added to a view that is synced.
func (r *Registration) HasDelivered() bool { return r.delivered.Load() }

// AddEventHandler adds a handler that is called for each object that exists, and then for each
// change. Calls come one at a time.
func (v *View) AddEventHandler(handler InitialHandler) (*Registration, error) {
	return v.addHandler(everyChange, handler, true)
}

// AddChangeHandler adds a handler that is called for each change, and not for the objects of the
// first list. Calls come one at a time.
func (v *View) AddChangeHandler(handler Handler) (*Registration, error) {
	return v.addHandler(everyChange, handler.ofChanges, false)
}

// AddFilteredHandler is AddChangeHandler for the changes that pass the filter. A change that passes is not lost when it
// is joined with a change that does not pass.
func (v *View) AddFilteredHandler(filter Filter, handler Handler) (*Registration, error) {
	return v.addHandler(filter, handler.ofChanges, false)
}

func everyChange(_, _ *object.Object) bool { return true }

func (h Handler) ofChanges(before, after *object.Object, _ bool) { h(before, after) }

func (v *View) addHandler(filter Filter, handler InitialHandler, withInitial bool) (*Registration, error) {
	ctx, cancel := context.WithCancel(v.informer.ctx)
	r := &Registration{
		view: v, filter: filter, handler: handler, withInitial: withInitial,
		stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	v.informer.mu.Lock()
	defer v.informer.mu.Unlock()
	if v.isReleased {
		cancel()
		return nil, fmt.Errorf("add an event handler for %s: its view has been released", v.Type)
	}
	v.registrations[r] = struct{}{}
	if v.isSynced {
		r.enqueueInitial()
		r.delivered.Store(len(r.pending.inOrder) == 0)
	}
	go r.run(ctx)
	return r, nil
}

// stopHandlers stops all handlers of a view that is being released. None can be added afterwards.
func (v *View) stopHandlers() {
	v.informer.mu.Lock()
	v.isReleased = true
	left := slices.Collect(maps.Keys(v.registrations))
	v.informer.mu.Unlock()
	for _, registration := range left {
		registration.Stop()
	}
}

// enqueueInitial enqueues the objects that exist, if the handler is called for them.
func (r *Registration) enqueueInitial() {
	if !r.withInitial {
		return
	}
	for _, o := range objects(r.view.informer.current.indexer.List()) {
		r.enqueue(nil, o)
	}
}

// enqueue enqueues a call for a change, as the view shows it: an object that enters the selection is new, an object
// that leaves it is gone, and a change outside the selection is none. It is called with the informer's lock held.
func (r *Registration) enqueue(before, after *object.Object) {
	if !r.view.selects(before) {
		before = nil
	}
	if !r.view.selects(after) {
		after = nil
	}
	if before == nil && after == nil || before != nil && after != nil && before.ResourceVersion == after.ResourceVersion {
		return
	}
	if !r.filter(before, after) {
		return
	}
	r.mu.Lock()
	r.pending.add(before, after)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run calls the handler for pending changes until ctx ends.
func (r *Registration) run(ctx context.Context) {
	defer close(r.done)
	var due backlog
	for {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		due, r.pending = r.pending, due
		r.mu.Unlock()
		for _, object := range due.inOrder {
			for i, before := range object.states[:len(object.states)-1] {
				if ctx.Err() != nil {
					return
				}
				r.handler(before, object.states[i+1], before == nil && !r.delivered.Load())
			}
		}
		due = due.emptied()
		r.delivered.Store(true) // the first pass has all that were enqueued when it was added
	}
}

// Stop ends the calls of the handler and waits for the one that is running.
func (r *Registration) Stop() {
	r.view.informer.mu.Lock()
	delete(r.view.registrations, r)
	r.view.informer.mu.Unlock()
	r.stop()
	<-r.done
}
