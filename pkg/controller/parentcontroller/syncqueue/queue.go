// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

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

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/metrics"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
)

// The delay before a parent that failed is tried again doubles from minBackoff to maxBackoff.
const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = 1000 * time.Second
)

// outOfTurn is the turn of a parent that leaves the queue because its time has come. The parent then gets a real
// turn.
const outOfTurn turn = -1

// SyncFunc syncs one parent because of a cause. It is never called concurrently for the same parent.
type SyncFunc func(ctx context.Context, parent object.Key, cause Cause) Result

// Queue is the work queue of one running controller with its workers.
type Queue struct {
	// Metrics measures the queue. The caller should keep it registered while Run runs.
	Metrics *metrics.Queue
	// Requeued is called after each sync, when it is known when the parent is synced next; nil calls nothing.
	Requeued func(parent object.Key)

	name         string
	queue        priorityqueue.PriorityQueue[object.Key]
	backoff      workqueue.TypedRateLimiter[object.Key]
	stop         func()
	sync         SyncFunc
	workers      int
	requeueTimes requeueTimes
	wakes        wakes
	// tracer is nil if syncs are not traced.
	tracer *tracing.Tracer
}

// New returns a queue. The caller must either run it or close it. The name is the one that the
// metrics show. The tracer is nil if syncs are not traced.
func New(name string, workers int, tracer *tracing.Tracer, syncOne SyncFunc) *Queue {
	measured := metrics.NewQueue(name)
	delays := workqueue.NewTypedItemExponentialFailureRateLimiter[object.Key](minBackoff, maxBackoff)
	queue := priorityqueue.New(name, func(o *priorityqueue.Opts[object.Key]) {
		o.MetricProvider = measured
		o.RateLimiter = delays
	})
	return &Queue{
		name:         name,
		tracer:       tracer,
		wakes:        wakes{of: map[object.Key]wake{}},
		Metrics:      measured,
		queue:        queue,
		backoff:      delays,
		stop:         sync.OnceFunc(queue.ShutDown),
		sync:         syncOne,
		workers:      workers,
		requeueTimes: requeueTimes{of: map[object.Key]requeueTime{}},
	}
}

// Close ends the queue. It is for a queue that is not run, and does nothing after Run.
func (q *Queue) Close() { q.stop() }

// Enqueue adds parents. The cause decides which parents are synced first: see lane.
func (q *Queue) Enqueue(cause Cause, parents ...object.Key) {
	now := time.Now()
	for _, parent := range parents {
		q.add(parent, q.wakes.note(cause, now, parent), 0)
	}
}

// add puts a parent into the queue, from which it comes after that time at its turn.
func (q *Queue) add(parent object.Key, at turn, after time.Duration) {
	q.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(-int(at)), After: after}, parent)
}

// Run syncs the parents in the queue until ctx ends. It returns when the running syncs have
// returned.
func (q *Queue) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range q.workers {
		workers.Go(func() { q.work(ctx) })
	}
	<-ctx.Done()
	q.stop()
	workers.Wait()
}

// work is one worker.
func (q *Queue) work(ctx context.Context) {
	for {
		parent, priority, shutdown := q.queue.GetWithPriority()
		if shutdown {
			return
		}
		q.syncIfNext(ctx, parent, turn(-priority), time.Now())
		q.queue.Done(parent)
	}
}

// syncIfNext syncs a parent that came out of the queue, unless no cause is noted, its time is still to come, or others
// are before it. Enqueue notes the cause before it puts the parent into the queue. A sync that begins in between takes
// the cause and sees the change. The parent comes out of the queue once more afterwards, although there is nothing new.
func (q *Queue) syncIfNext(ctx context.Context, parent object.Key, came turn, now time.Time) {
	wake, isNoted, isNext := q.wakes.take(parent, came, now)
	switch wait := wake.at.Sub(now); {
	case !isNoted:
		return
	case wait > 0:
		q.add(parent, outOfTurn, wait)
		return
	case !isNext:
		q.add(parent, wake.turn, 0)
		return
	}
	q.requeue(parent, now, q.syncTraced(ctx, parent, wake))
	if q.Requeued != nil {
		q.Requeued(parent)
	}
}

// syncTraced syncs one parent in a span that begins with the causes of the sync.
func (q *Queue) syncTraced(ctx context.Context, parent object.Key, wake wake) Result {
	if q.tracer == nil {
		return q.syncSafely(ctx, parent, wake.strongest())
	}
	ctx, span := q.tracer.StartSync(ctx, wake.at)
	defer span.End()
	if span.IsRecorded() {
		span.Set(tracing.Controller.String(q.name), tracing.Cause.String(wake.first.String()),
			tracing.Kind.String(parent.Kind), tracing.Namespace.String(parent.Namespace), tracing.Name.String(parent.Name))
	}
	return q.syncSafely(ctx, parent, wake.strongest())
}

// syncSafely keeps a panic from ending the process. Syncs recover from panics themselves and report
// them; this is for a panic in the reporting.
func (q *Queue) syncSafely(ctx context.Context, parent object.Key, cause Cause) (result Result) {
	defer func() {
		if panicked := recover(); panicked != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("panic: %v", panicked), "Sync panicked",
				"parent", parent, "stack", string(debug.Stack()))
			result = Backoff(0)
		}
	}()
	return q.sync(ctx, parent, cause)
}

// requeue puts a parent back into the queue, or not, as the result of its sync says.
func (q *Queue) requeue(parent object.Key, started time.Time, result Result) {
	if result.kind == forget {
		q.requeueTimes.forget(parent)
		q.queue.Forget(parent)
		return
	}
	var after time.Duration
	now := time.Now()
	var requested time.Time
	if result.kind != requeueAfter && result.after > 0 {
		requested = now.Add(result.after)
	}
	if next := q.requeueTimes.update(parent, started, requested); !next.IsZero() {
		after = max(next.Sub(now), 1) // zero would be never
	}
	if result.kind == backoff {
		if delay := q.backoff.When(parent); after == 0 || delay < after {
			after = delay
		}
	}
	if result.kind == requeueAfter && (after == 0 || result.after < after) {
		after = result.after
	}
	if result.latest > 0 && (after == 0 || result.latest < after) {
		after = result.latest
	}
	cause := Retry
	if result.kind == done {
		q.queue.Forget(parent)
		if after == 0 {
			return
		}
		cause = Due
	}
	q.requeueTimes.schedule(parent, now.Add(after))
	q.wakes.noteLater(cause, now.Add(after), parent)
	q.add(parent, outOfTurn, after)
}

// NextSync returns the time of the next sync that the last sync of a parent asked for; zero if it asked for none.
func (q *Queue) NextSync(parent object.Key) time.Time {
	q.requeueTimes.mu.Lock()
	defer q.requeueTimes.mu.Unlock()
	return q.requeueTimes.of[parent].scheduled
}

// Failures returns how many consecutive syncs of a parent asked for a retry with backoff.
func (q *Queue) Failures(parent object.Key) int { return q.backoff.NumRequeues(parent) }
