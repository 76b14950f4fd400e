// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"math/bits"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Cause is why a parent is in the queue. Traces show it, and hooks are told.
type Cause uint8

// The causes, the one that tells most first. Of several causes of one sync, the first counts.
const (
	// Asked is a sync that a user asked for.
	Asked Cause = iota
	ParentChanged
	// ControllerStarted is the first sync of a parent that exists when its controller starts.
	ControllerStarted
	ChildChanged
	NameFreed
	RelatedChanged
	SchemaChanged
	Resync
	// Due is a sync that the last one asked for, at a time.
	Due
	// Retry is a sync because the last one failed, or came too early.
	Retry
)

func (c Cause) String() string {
	return [...]string{
		"asked for", "parent changed", "controller started", "child changed", "name of a child became free",
		"related object changed", "schema changed", "resync", "last sync", "retry",
	}[c]
}

// wake is what a sync begins with.
type wake struct {
	// at is the time of the earliest cause, which is first.
	at    time.Time
	first Cause
	// causes has a bit for each cause.
	causes uint16
}

// strongest returns the cause that counts.
func (w wake) strongest() Cause { return Cause(bits.TrailingZeros16(w.causes)) }

// wakes has the causes of each parent in the queue. The queue itself keeps none. Its methods may be called
// concurrently.
type wakes struct {
	mu sync.Mutex
	of map[object.Key]wake
}

// note notes why parents are to be synced, and from when on.
func (w *wakes) note(cause Cause, at time.Time, parents ...object.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, parent := range parents {
		noted, isKnown := w.of[parent]
		if !isKnown || at.Before(noted.at) {
			noted.at, noted.first = at, cause
		}
		noted.causes |= 1 << cause
		w.of[parent] = noted
	}
}

// take returns why and from when on a parent is to be synced, and reports whether any cause is noted. It forgets the
// causes if that time has come.
func (w *wakes) take(parent object.Key, now time.Time) (taken wake, isNoted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken, isNoted = w.of[parent]
	if !taken.at.After(now) {
		delete(w.of, parent)
	}
	return taken, isNoted
}
