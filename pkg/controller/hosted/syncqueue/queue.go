// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package syncqueue runs the syncs of one hosted controller: it keeps the queue of the
// parents that are to be synced and the workers that sync them.
package syncqueue

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/metrics"
)

// The time after which a parent that fails is tried again doubles from the first to
// the longest backoff.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = 1000 * time.Second
)

// What changed goes before what is only looked at again.
const (
	normalPriority = 0
	lowPriority    = -100
)

// SyncFunc syncs one parent. It is never called twice at once for the same parent.
type SyncFunc func(ctx context.Context, parent pipeline.Key) Result

// Queue is the queue and the workers of one hosted controller.
type Queue struct {
	// Metrics are those of the queue. They are worth telling while the loop runs.
	Metrics *metrics.Queue

	queue        priorityqueue.PriorityQueue[pipeline.Key]
	stop         func()
	sync         SyncFunc
	workers      int
	requeueTimes requeueTimes
}

// New makes a loop, which must be run or closed. The name is the one its queue
// has in metrics.
func New(name string, workers int, syncOne SyncFunc) *Queue {
	measured := metrics.NewQueue(name)
	queue := priorityqueue.New(name, func(o *priorityqueue.Opts[pipeline.Key]) {
		o.MetricProvider = measured
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[pipeline.Key](minBackoff, maxBackoff)
	})
	return &Queue{
		Metrics:      measured,
		queue:        queue,
		stop:         sync.OnceFunc(queue.ShutDown),
		sync:         syncOne,
		workers:      workers,
		requeueTimes: requeueTimes{at: map[pipeline.Key]time.Time{}},
	}
}

// Close ends the queue. It is for a loop that is not run, and does no harm to one
// that was.
func (q *Queue) Close() { q.stop() }

// Enqueue has parents synced that something happened to.
func (q *Queue) Enqueue(parents ...pipeline.Key) {
	q.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(normalPriority)}, parents...)
}

// EnqueueLowPriority has parents synced when nothing else is to be done.
func (q *Queue) EnqueueLowPriority(parents ...pipeline.Key) {
	q.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(lowPriority)}, parents...)
}

// Run works the queue until ctx ends and the syncs under way have returned.
func (q *Queue) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range q.workers {
		workers.Go(func() { q.work(ctx) })
	}
	<-ctx.Done()
	q.stop()
	workers.Wait()
}

func (q *Queue) work(ctx context.Context) {
	for {
		parent, shutdown := q.queue.Get()
		if shutdown {
			return
		}
		started := time.Now()
		q.requeue(parent, started, q.syncSafely(ctx, parent))
		q.queue.Done(parent)
	}
}

// syncSafely keeps a panic from ending the process. Syncs tell about their own panics;
// this is for one in the telling.
func (q *Queue) syncSafely(ctx context.Context, parent pipeline.Key) (result Result) {
	defer func() {
		if panicked := recover(); panicked != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("panic: %v", panicked), "Sync panicked",
				"parent", parent, "stack", string(debug.Stack()))
			result = Backoff(0)
		}
	}()
	return q.sync(ctx, parent)
}

// requeue puts a parent back into the queue as the verdict on its sync says.
func (q *Queue) requeue(parent pipeline.Key, started time.Time, result Result) {
	if result.kind == forget {
		q.requeueTimes.forget(parent)
		q.queue.Forget(parent)
		return
	}
	again := priorityqueue.AddOpts{Priority: ptr.To(lowPriority), RateLimited: result.kind == backoff}
	now := time.Now()
	var asked time.Time
	if result.kind != requeueAfter && result.after > 0 {
		asked = now.Add(result.after)
	}
	if next := q.requeueTimes.update(parent, started, asked); !next.IsZero() {
		again.After = max(next.Sub(now), 1) // zero would be never
	}
	switch result.kind {
	case requeueAfter:
		if again.After == 0 || result.after < again.After {
			again.After = result.after
		}
	case done:
		q.queue.Forget(parent)
		if again.After == 0 {
			return
		}
	}
	q.queue.AddWithOpts(again, parent)
}
