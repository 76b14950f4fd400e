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

// Parents that changed are synced before those that somebody wants to be synced, and these before parents that are only retried or
// resynced.
const (
	normalPriority = 0
	mediumPriority = -50
	lowPriority    = -100
)

// SyncFunc syncs one parent because of a cause. It is never called concurrently for the same parent.
type SyncFunc func(ctx context.Context, parent object.Key, cause Cause) Result

// Queue is the work queue of one running controller with its workers.
type Queue struct {
	// Metrics measures the queue. It should be registered while Run runs.
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

// Enqueue adds parents because of an event.
func (q *Queue) Enqueue(cause Cause, parents ...object.Key) {
	q.wakes.note(cause, time.Now(), parents...)
	q.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(normalPriority)}, parents...)
}

// EnqueueMediumPriority adds parents that are synced when no parent waits that has changed, also if they are to be retried later.
func (q *Queue) EnqueueMediumPriority(cause Cause, parents ...object.Key) {
	q.wakes.note(cause, time.Now(), parents...)
	q.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(mediumPriority)}, parents...)
}

// EnqueueLowPriority adds parents that are synced when no other parent waits.
func (q *Queue) EnqueueLowPriority(cause Cause, parents ...object.Key) {
	q.wakes.note(cause, time.Now(), parents...)
	q.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(lowPriority)}, parents...)
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
		parent, shutdown := q.queue.Get()
		if shutdown {
			return
		}
		q.syncIfDue(ctx, parent, time.Now())
		q.queue.Done(parent)
	}
}

// syncIfDue syncs a parent that came out of the queue, unless no cause is noted or its time is still to come. Enqueue
// notes the cause before it puts the parent into the queue. A sync that begins in between takes the cause and sees the
// change. The parent comes out of the queue once more afterwards, although there is nothing new.
func (q *Queue) syncIfDue(ctx context.Context, parent object.Key, now time.Time) {
	wake, isNoted := q.wakes.take(parent, now)
	if !isNoted {
		return
	}
	if wait := wake.at.Sub(now); wait > 0 {
		q.queue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(lowPriority), After: wait}, parent)
		return
	}
	q.requeue(parent, now, q.syncTraced(ctx, parent, wake))
	if q.Requeued != nil {
		q.Requeued(parent)
	}
}

// syncTraced syncs one parent in a span that begins with what caused the sync.
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
	options := priorityqueue.AddOpts{Priority: ptr.To(lowPriority)}
	now := time.Now()
	var requested time.Time
	if result.kind != requeueAfter && result.after > 0 {
		requested = now.Add(result.after)
	}
	if next := q.requeueTimes.update(parent, started, requested); !next.IsZero() {
		options.After = max(next.Sub(now), 1) // zero would be never
	}
	if result.kind == backoff {
		if delay := q.backoff.When(parent); options.After == 0 || delay < options.After {
			options.After = delay
		}
	}
	if result.kind == requeueAfter && (options.After == 0 || result.after < options.After) {
		options.After = result.after
	}
	if result.latest > 0 && (options.After == 0 || result.latest < options.After) {
		options.After = result.latest
	}
	cause := Retry
	if result.kind == done {
		q.queue.Forget(parent)
		if options.After == 0 {
			return
		}
		cause = Due
	}
	q.requeueTimes.schedule(parent, now.Add(options.After))
	q.wakes.note(cause, now.Add(options.After), parent)
	q.queue.AddWithOpts(options, parent)
}

// NextSync returns when a parent is synced next because of its last sync; zero if that asked for no other one.
func (q *Queue) NextSync(parent object.Key) time.Time {
	q.requeueTimes.mu.Lock()
	defer q.requeueTimes.mu.Unlock()
	return q.requeueTimes.of[parent].scheduled
}

// Failures returns how many syncs of a parent in a row were to be tried again.
func (q *Queue) Failures(parent object.Key) int { return q.backoff.NumRequeues(parent) }

// requeueTimes has when each parent is synced again because of its last sync, and the earliest time at which a sync asked
// for that. The queue cannot keep the latter, because an event takes the parent out of the queue before that time. Its
// methods may be called concurrently.
type requeueTimes struct {
	mu sync.Mutex
	of map[object.Key]requeueTime
}

// requeueTime has a time for a parent if a sync has asked for it, and when the parent is synced next. One of both may be zero.
type requeueTime struct{ requested, scheduled time.Time }

// update notes the result of a sync that began at started: it asked for another sync at that time,
// or for none if at is zero. It returns the earliest requested time that is still to come; zero if
// there is none. Nothing is scheduled then.
func (r *requeueTimes) update(parent object.Key, started, at time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	earlier := r.of[parent].requested
	if earlier.After(started) && (at.IsZero() || earlier.Before(at)) {
		at = earlier
	}
	if at.IsZero() {
		delete(r.of, parent)
	} else {
		r.of[parent] = requeueTime{requested: at}
	}
	return at
}

// schedule notes when a parent is synced next.
func (r *requeueTimes) schedule(parent object.Key, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	times := r.of[parent]
	times.scheduled = at
	r.of[parent] = times
}

func (r *requeueTimes) forget(parent object.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, parent)
}
