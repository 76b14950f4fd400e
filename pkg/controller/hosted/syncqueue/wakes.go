// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Cause is why a parent is in the queue. Traces show it.
type Cause string

const (
	ParentChanged  Cause = "parent changed"
	ChildChanged   Cause = "child changed"
	NameFreed      Cause = "name of a child became free"
	RelatedChanged Cause = "related object changed"
	SchemaChanged  Cause = "schema changed"
	Resync         Cause = "resync"
	// Requested is a sync that the last one asked for.
	Requested Cause = "last sync"
)

// wake is what a sync begins with.
type wake struct {
	cause Cause
	at    time.Time
}

// wakes has the earliest cause of each parent in the queue. The queue itself keeps none. A nil *wakes notes nothing. Its
// methods may be called concurrently.
type wakes struct {
	mu sync.Mutex
	of map[object.Key]wake
}

// note notes why parents are to be synced, and from when on.
func (w *wakes) note(cause Cause, at time.Time, parents ...object.Key) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, parent := range parents {
		if earlier, isKnown := w.of[parent]; !isKnown || at.Before(earlier.at) {
			w.of[parent] = wake{cause, at}
		}
	}
}

// take returns why a parent is synced now, and forgets it.
func (w *wakes) take(parent object.Key, now time.Time) wake {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken, isKnown := w.of[parent]
	delete(w.of, parent)
	if !isKnown || taken.at.After(now) {
		return wake{Requested, now}
	}
	return taken
}
