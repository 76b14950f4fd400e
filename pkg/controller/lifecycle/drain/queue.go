// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// task is work that may take long. It is done in turns of some objects each, and other tasks have their turns in
// between. A task keeps its place from one turn to the next.
type task interface {
	// turn does the next part of the work. If ctx ends before, the result does not count.
	turn(ctx context.Context) result
	// fail records why a turn panicked.
	fail(err error)
}

// result is the next action after a turn.
type result int

const (
	// ended means that the task has no more turns.
	ended result = iota
	// goesOn means that the task has its next turn after all tasks that wait now.
	goesOn
	// failing means the same, after a backoff.
	failing
)

// A task that fails has its next turn after firstBackoff. The time doubles with each failure, up to
// maxBackoff.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// workers bounds the tasks that run concurrently.
const workers = 4

// queue gives tasks their turns.
type queue struct {
	tasks workqueue.TypedRateLimitingInterface[task]
}

func newQueue() *queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[task](firstBackoff, maxBackoff)
	return &queue{workqueue.NewTypedRateLimitingQueue(limiter)}
}

func (q *queue) add(next task) { q.tasks.Add(next) }

// run runs the turns of tasks until ctx is done, and then waits for the turns in progress.
func (q *queue) run(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() { q.work(ctx) })
	}
	<-ctx.Done()
	q.tasks.ShutDown()
	running.Wait()
}

// work gives turns until the queue is shut down.
func (q *queue) work(ctx context.Context) {
	for {
		next, shutdown := q.tasks.Get()
		if shutdown {
			return
		}
		switch q.turn(ctx, next) {
		case goesOn:
			q.tasks.Add(next)
		case failing:
			q.tasks.AddRateLimited(next)
		case ended:
			q.tasks.Forget(next)
		}
		q.tasks.Done(next)
	}
}

// turn turns a panic into a failure.
func (q *queue) turn(ctx context.Context, next task) (result result) {
	defer func() {
		if panicked := recover(); panicked != nil {
			result = failing
			err := fmt.Errorf("panic: %v", panicked)
			klog.FromContext(ctx).Error(err, "Panic while finalizers were removed or searched for",
				"stack", string(debug.Stack()))
			next.fail(err)
		}
	}()
	if ctx.Err() != nil {
		return ended
	}
	return next.turn(ctx)
}
