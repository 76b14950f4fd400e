// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Parents that are synced on request, or because of an object of spec.resyncOn, are enqueued some at a time, so that the hook
// is not called about all of them at once.
const (
	resyncBatch    = 10
	resyncInterval = 100 * time.Millisecond
)

// Selection selects parents.
type Selection struct {
	// APIVersion and Kind are those of the parents; empty for any.
	APIVersion, Kind string
	// Namespace is that of the parents. If it is empty, those of all namespaces are selected unless IsExact is true.
	Namespace string
	IsExact   bool
	// Name is that of the one parent; empty for all.
	Name string
	// Labels selects parents by their labels; nil selects all.
	Labels labels.Selector
}

func (s *Selection) selects(parent *object.Object) bool {
	return (s.APIVersion == "" || s.APIVersion == parent.APIVersion) && (s.Kind == "" || s.Kind == parent.Kind) &&
		(s.Namespace == parent.Namespace || s.Namespace == "" && !s.IsExact) && (s.Name == "" || s.Name == parent.Name) &&
		(s.Labels == nil || s.Labels.Matches(labels.Set(parent.Labels)))
}

// RequestSyncs has the selected parents synced soon, unless they are only to be counted. It returns how many there are, and how many
// more are paused and stay so.
func (c *Controller) RequestSyncs(selection Selection, onlyCount bool) (parents, paused int) {
	var selected []object.Key
	for _, parent := range c.planner.Observer.Parents() {
		switch {
		case !selection.selects(parent):
		case c.pauses(parent):
			paused++
		default:
			selected = append(selected, object.KeyOf(parent))
		}
	}
	if !onlyCount {
		c.resyncRequests.add(syncqueue.Asked, selected)
	}
	return len(selected), paused
}

// startResyncRequests enqueues the parents of requests until stop is called.
func (c *Controller) startResyncRequests(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { c.resyncRequests.run(ctx, c.queue.Enqueue) })
	return func() { cancel(); running.Wait() }
}

// resyncRequests are the parents that are to be synced although nothing has changed. Its methods may be called
// concurrently.
type resyncRequests struct {
	mu sync.Mutex
	// waiting are the parents in the order in which they are enqueued, each once. causes are their causes.
	waiting []object.Key
	causes  map[object.Key]syncqueue.Cause
	// added has an element if there may be some.
	added chan struct{}
}

func newResyncRequests() *resyncRequests {
	return &resyncRequests{causes: map[object.Key]syncqueue.Cause{}, added: make(chan struct{}, 1)}
}

// add adds parents. One that waits already does not wait longer.
func (r *resyncRequests) add(cause syncqueue.Cause, parents []object.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, parent := range parents {
		before, waits := r.causes[parent]
		if !waits {
			r.waiting = append(r.waiting, parent)
		}
		if !waits || cause < before {
			r.causes[parent] = cause
		}
	}
	select {
	case r.added <- struct{}{}:
	default:
	}
}

// take removes the first parents and calls enqueue with each. It reports whether more wait.
func (r *resyncRequests) take(enqueue func(syncqueue.Cause, ...object.Key)) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.waiting[:min(len(r.waiting), resyncBatch)]
	for _, parent := range next {
		enqueue(r.causes[parent], parent)
		delete(r.causes, parent)
	}
	if r.waiting = r.waiting[len(next):]; len(r.waiting) == 0 {
		r.waiting = nil
	}
	return len(r.waiting) > 0
}

// run enqueues parents until ctx ends.
func (r *resyncRequests) run(ctx context.Context, enqueue func(syncqueue.Cause, ...object.Key)) {
	for {
		select {
		case <-r.added:
		case <-ctx.Done():
			return
		}
		for more := true; more; {
			more = r.take(enqueue)
			select {
			case <-time.After(resyncInterval):
			case <-ctx.Done():
				return
			}
		}
	}
}
