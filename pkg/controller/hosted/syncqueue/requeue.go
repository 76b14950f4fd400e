// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// requeueTimes has the earliest time at which a sync asked for each parent to be synced again. The
// queue cannot keep it, because an event takes the parent out of the queue before that time. Its
// methods may be called concurrently.
type requeueTimes struct {
	mu sync.Mutex
	at map[pipeline.Key]time.Time
}

// update notes the result of a sync that began at started: it asked for another sync at that time,
// or for none if at is zero. It returns the earliest requested time that is still to come; zero if
// there is none.
func (r *requeueTimes) update(parent pipeline.Key, started, at time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	earlier, pending := r.at[parent]
	if pending && earlier.After(started) && (at.IsZero() || earlier.Before(at)) {
		return earlier
	}
	if at.IsZero() {
		delete(r.at, parent)
	} else {
		r.at[parent] = at
	}
	return at
}

func (r *requeueTimes) forget(parent pipeline.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, parent)
}
