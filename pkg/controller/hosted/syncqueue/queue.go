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
	firstBackoff   = 5 * time.Millisecond
	longestBackoff = 1000 * time.Second
)

// What changed goes before what is only looked at again.
const (
	changedPriority = 0
	againPriority   = -100
)

// SyncFunc syncs one parent. It is never called twice at once for the same parent.
type SyncFunc func(ctx context.Context, parent pipeline.Key) Result

// Queue is the queue and the workers of one hosted controller.
type Queue struct {
	// Metrics are those of the queue. They are worth telling while the loop runs.
	Metrics *metrics.Queue

	queue   priorityqueue.PriorityQueue[pipeline.Key]
	stop    func()
	sync    SyncFunc
	workers int
	asked   asked
}

// New makes a loop, which must be run or closed. The name is the one its queue
// has in metrics.
func New(name string, workers int, syncOne SyncFunc) *Queue {
	measured := metrics.NewQueue(name)
	queue := priorityqueue.New(name, func(o *priorityqueue.Opts[pipeline.Key]) {
		o.MetricProvider = measured
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[pipeline.Key](firstBackoff, longestBackoff)
	})
	return &Queue{
		Metrics: measured,
		queue:   queue,
		stop:    sync.OnceFunc(queue.ShutDown),
		sync:    syncOne,
		workers: workers,
		asked:   asked{at: map[pipeline.Key]time.Time{}},
	}
}

// Close ends the queue. It is for a loop that is not run, and does no harm to one
// that was.
func (l *Queue) Close() { l.stop() }

// Enqueue has parents synced that something happened to.
func (l *Queue) Enqueue(parents ...pipeline.Key) {
	l.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(changedPriority)}, parents...)
}

// EnqueueLowPriority has parents synced when nothing else is to be done.
func (l *Queue) EnqueueLowPriority(parents ...pipeline.Key) {
	l.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(againPriority)}, parents...)
}

// Run works the queue until ctx ends and the syncs under way have returned.
func (l *Queue) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range l.workers {
		workers.Go(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.stop()
	workers.Wait()
}

func (l *Queue) work(ctx context.Context) {
	for {
		parent, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		started := time.Now()
		l.settle(parent, started, l.syncSafely(ctx, parent))
		l.queue.Done(parent)
	}
}

// syncSafely keeps a panic from ending the process. Syncs tell about their own panics;
// this is for one in the telling.
func (l *Queue) syncSafely(ctx context.Context, parent pipeline.Key) (verdict Result) {
	defer func() {
		if panicked := recover(); panicked != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("panic: %v", panicked), "Sync panicked",
				"parent", parent, "stack", string(debug.Stack()))
			verdict = Backoff(0)
		}
	}()
	return l.sync(ctx, parent)
}

// settle puts a parent back into the queue as the verdict on its sync says.
func (l *Queue) settle(parent pipeline.Key, started time.Time, verdict Result) {
	if verdict.kind == gone {
		l.asked.forget(parent)
		l.queue.Forget(parent)
		return
	}
	again := priorityqueue.AddOpts{Priority: ptr.To(againPriority), RateLimited: verdict.kind == failed}
	now := time.Now()
	var asked time.Time
	if verdict.kind != waiting && verdict.after > 0 {
		asked = now.Add(verdict.after)
	}
	if next := l.asked.next(parent, started, asked); !next.IsZero() {
		again.After = max(next.Sub(now), 1) // zero would be never
	}
	switch verdict.kind {
	case waiting:
		if again.After == 0 || verdict.after < again.After {
			again.After = verdict.after
		}
	case done:
		l.queue.Forget(parent)
		if again.After == 0 {
			return
		}
	}
	l.queue.AddWithOpts(again, parent)
}
