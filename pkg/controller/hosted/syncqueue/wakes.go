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
	// StatusChanged is a change of a parent that leaves all but its status as it was.
	StatusChanged
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
		"asked for", "parent changed", "controller started", "status of the parent changed", "child changed",
		"name of a child became free",
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
	// line is where the parent waits for its turn. Until the time at has come, it has none.
	line line
	turn turn
}

// strongest returns the cause that counts.
func (w wake) strongest() Cause { return Cause(bits.TrailingZeros16(w.causes)) }

// wakes has the causes of each parent in the queue, and its turn. The queue itself keeps none. Its methods may be
// called concurrently.
type wakes struct {
	mu    sync.Mutex
	of    map[object.Key]wake
	turns turns
}

// note notes why a parent is to be synced now, and returns its turn.
func (w *wakes) note(cause Cause, now time.Time, parent object.Key) turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	noted := w.of[parent].and(cause, now)
	w.lineUp(&noted, lineOf(cause))
	w.of[parent] = noted
	return noted.turn
}

// noteLater notes why a parent is to be synced at a time, when it gets a turn.
func (w *wakes) noteLater(cause Cause, at time.Time, parent object.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[parent] = w.of[parent].and(cause, at)
}

// and returns the wake with one more cause.
func (w wake) and(cause Cause, at time.Time) wake {
	if w.causes == 0 || at.Before(w.at) {
		w.at, w.first = at, cause
	}
	w.causes |= 1 << cause
	return w
}

// lineUp has a parent wait in a line, unless it waits in a faster one.
func (w *wakes) lineUp(noted *wake, of line) {
	next := noted.turn
	switch {
	case next == 0:
		next = w.turns.next(of)
	case of < noted.line:
		w.turns.waiting[noted.line]--
		next = min(next, w.turns.next(of))
	default:
		return
	}
	noted.line, noted.turn = of, next
}

// take returns why and from when on a parent is to be synced that came out of the queue, and reports whether any cause
// is noted. If that time has come and the parent is next, take forgets it. A parent that came before its turn is next
// only if no other one waits.
func (w *wakes) take(parent object.Key, came turn, now time.Time) (taken wake, isNoted, isNext bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken, isNoted = w.of[parent]
	if !isNoted || taken.at.After(now) {
		return taken, isNoted, false
	}
	hasTurn := taken.turn != 0
	if (!hasTurn || came < taken.turn) && w.turns.othersWait(hasTurn) {
		w.lineUp(&taken, again)
		w.of[parent] = taken
		return taken, true, false
	}
	delete(w.of, parent)
	if hasTurn {
		w.turns.waiting[taken.line]--
		w.turns.now = max(w.turns.now, taken.turn)
	}
	return taken, true, true
}
