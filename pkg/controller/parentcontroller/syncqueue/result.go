// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Result says when a parent is synced again. The zero value is Done(0).
type Result struct {
	kind  resultKind
	after time.Duration
	// latest is the time after which the parent is synced again at the latest; zero is never.
	latest time.Duration
}

type resultKind int

const (
	done resultKind = iota
	backoff
	requeueAfter
	forget
)

// Done returns the result of a sync that succeeded, which resets the backoff. If after is positive,
// it asks for another sync after that time. If several syncs have asked, the earliest time counts.
// A sync that runs earlier for another reason does not cancel it.
func Done(after time.Duration) Result { return Result{kind: done, after: after} }

// Backoff returns the result of a sync that failed. It is retried with a growing delay. If after is
// positive, it asks for another sync after that time, as Done does.
func Backoff(after time.Duration) Result { return Result{kind: backoff, after: after} }

// RequeueAfter returns the result of a sync that came too early: it neither failed nor succeeded.
// The parent is synced again after that time.
func RequeueAfter(after time.Duration) Result {
	return Result{kind: requeueAfter, after: max(after, minBackoff)}
}

// Within returns the result with a limit: the parent is synced again after that time at the latest. Of several limits,
// the earliest counts. In contrast to the time that Done asks for, a sync that runs earlier cancels it.
func (r Result) Within(latest time.Duration) Result {
	if latest = max(latest, minBackoff); r.latest == 0 || latest < r.latest {
		r.latest = latest
	}
	return r
}

// Forget returns the result of the sync of a parent that does not exist or is not selected. The requests of earlier
// syncs are dropped.
func Forget() Result { return Result{kind: forget} }

// requeueTimes has when each parent is synced again because of its last sync, and the earliest time at which a sync
// asked for that. The queue cannot keep the latter, because an event takes the parent out of the queue before that
// time. Its methods may be called concurrently.
type requeueTimes struct {
	mu sync.Mutex
	of map[object.Key]requeueTime
}

// requeueTime has a time for a parent if a sync has asked for it, and when the parent is synced next. One of both may
// be zero.
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
