// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
)

// Selection selects parents.
type Selection struct {
	// APIVersion and Kind are the type of the parents, or empty for any type.
	APIVersion, Kind string
	// Namespace is the namespace of the parents. If it is empty and IsExact is false, parents in all namespaces are
	// selected.
	Namespace string
	IsExact   bool
	// Name is the name of a single parent, or empty for all parents.
	Name string
	// Labels selects parents by their labels; nil selects all.
	Labels labels.Selector
}

func (s *Selection) selects(parent *object.Object) bool {
	return (s.APIVersion == "" || s.APIVersion == parent.APIVersion) && (s.Kind == "" || s.Kind == parent.Kind) &&
		(s.Namespace == parent.Namespace || s.Namespace == "" && !s.IsExact) && (s.Name == "" || s.Name == parent.Name) &&
		(s.Labels == nil || s.Labels.Matches(labels.Set(parent.Labels)))
}

// Parents that are synced on request, or because of an object of spec.resyncOn, are enqueued some at a time so that
// the hook is not called about all of them at once.
const (
	resyncBatch    = 10
	resyncInterval = 100 * time.Millisecond
)

// resyncRequests are the parents to sync although nothing has changed. Its methods may be called concurrently.
type resyncRequests struct {
	mu sync.Mutex
	// waiting are the parents in the order in which they are enqueued, each once. causes are their causes.
	waiting []object.Key
	causes  map[object.Key]syncqueue.Cause
	// added has an element if there may be some parents.
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

// ticks are the times at which something is done periodically.
type ticks struct {
	first  time.Time
	period time.Duration
}

// ticksOf returns when startPeriodic calls its function.
func ticksOf(periods []time.Duration, now time.Time) *[]ticks {
	var all []ticks
	for _, period := range periods {
		if period > 0 {
			all = append(all, ticks{now.Add(period), period})
		}
	}
	return &all
}

// after returns the first of the times after now.
func (t ticks) after(now time.Time) time.Time {
	if now.Before(t.first) {
		return t.first
	}
	return t.first.Add((now.Sub(t.first)/t.period + 1) * t.period)
}

// startPeriodic calls do in each of the periods that are not zero, until stop is called.
func startPeriodic(ctx context.Context, periods []time.Duration, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, period := range periods {
		if period > 0 {
			running.Go(func() { runPeriodic(ctx, period, do) })
		}
	}
	return func() { cancel(); running.Wait() }
}

func runPeriodic(ctx context.Context, period time.Duration, do func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}
