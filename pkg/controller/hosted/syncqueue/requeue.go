// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// requeueTimes holds the earliest time at which each parent is to be synced again because a sync
// asked for it. The queue cannot hold it: an event takes a parent out of the queue
// before its time.
type requeueTimes struct {
	mu sync.Mutex
	at map[pipeline.Key]time.Time
}

// update notes that a sync which began at started has asked for another one at that time, zero if
// it did not, and returns the earliest time that is still to come; zero is never.
func (a *requeueTimes) update(parent pipeline.Key, started, at time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	earlier, pending := a.at[parent]
	if pending && earlier.After(started) && (at.IsZero() || earlier.Before(at)) {
		return earlier
	}
	if at.IsZero() {
		delete(a.at, parent)
	} else {
		a.at[parent] = at
	}
	return at
}

func (a *requeueTimes) forget(parent pipeline.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, parent)
}
