// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"math/bits"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// wake is the state with which a sync begins.
type wake struct {
	// at is the time of the earliest cause, which is first.
	at    time.Time
	first Cause
	// causes has a bit for each cause.
	causes uint16
	// lane is the lane in which the parent waits for its turn. Until the time at has come, it has no turn.
	lane lane
	turn turn
}

// This does not compile if there are more causes than bits.
const _ = uint(16 - causes)

// strongest returns the cause that counts.
func (w wake) strongest() Cause { return Cause(bits.TrailingZeros16(w.causes)) }

// and returns the wake with one more cause.
func (w wake) and(cause Cause, at time.Time) wake {
	if w.causes == 0 || at.Before(w.at) {
		w.at, w.first = at, cause
	}
	w.causes |= 1 << cause
	return w
}

// wakes has the causes and the turn of each parent in the queue, which the queue itself does not keep. Its methods may
// be called concurrently.
type wakes struct {
	mu    sync.Mutex
	of    map[object.Key]wake
	turns turns
}

// note records why a parent needs a sync now, and returns its turn.
func (w *wakes) note(cause Cause, now time.Time, parent object.Key) turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	noted := w.of[parent].and(cause, now)
	w.enterLane(&noted, cause.info().lane)
	w.of[parent] = noted
	return noted.turn
}

// noteLater records why a parent needs a sync at a later time, at which it gets a turn.
func (w *wakes) noteLater(cause Cause, at time.Time, parent object.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[parent] = w.of[parent].and(cause, at)
}

// enterLane puts a parent into a lane, unless it waits in a faster one.
func (w *wakes) enterLane(noted *wake, of lane) {
	next := noted.turn
	switch {
	case next == 0:
		next = w.turns.next(of)
	case of < noted.lane:
		w.turns.waiting[noted.lane]--
		next = min(next, w.turns.next(of))
	default:
		return
	}
	noted.lane, noted.turn = of, next
}

// take returns the cause and the earliest time of the sync of a parent that was taken from the queue, and reports
// whether a cause is recorded. If that time has come and the parent is next, take forgets the cause. A parent that
// came before its turn is next only if no other one waits.
func (w *wakes) take(parent object.Key, came turn, now time.Time) (taken wake, isNoted, isNext bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken, isNoted = w.of[parent]
	if !isNoted || taken.at.After(now) {
		return taken, isNoted, false
	}
	hasTurn := taken.turn != 0
	if (!hasTurn || came < taken.turn) && w.turns.othersWait(hasTurn) {
		if !hasTurn {
			w.enterLane(&taken, again)
			w.of[parent] = taken
		}
		return taken, true, false
	}
	delete(w.of, parent)
	if hasTurn {
		w.turns.waiting[taken.lane]--
		w.turns.now = max(w.turns.now, taken.turn)
	}
	return taken, true, true
}

// turn says when a waiting parent is synced: the smallest turn is next. It is zero while the time of the parent has not
// come.
type turn int

// lane is a lane in which parents wait. The fastest comes first, and a parent moves only to a faster one. The
// parents of a lane are synced in the order in which they came. Two turns of a lane are as far apart as its pace, so
// each lane gets its share of the syncs while others wait, and nothing waits forever if more parents change than can
// be synced (S. J. Golestani, "A self-clocked fair queueing scheme for broadband applications", INFOCOM 1994).
type lane int

const (
	// changed are parents that changed.
	changed lane = iota
	// requested are parents whose sync a user requested.
	requested
	// started are parents that existed when the controller started and were not synced yet.
	started
	// again are parents that asked for another sync at the end of their last one.
	again
	// affected are parents whose status, children or related objects changed. Most of that is what syncs have written, so
	// the parents that have yet to be synced come first, and those that wait are synced once after several such changes.
	affected
	// all are parents that are synced because all are.
	all
	lanes
)

// pace is the number of turns between two turns of the lane.
func (l lane) pace() turn {
	return [...]turn{changed: 1, requested: 4, started: 4, again: 4, affected: 32, all: 64}[l]
}

// turns gives out turns.
type turns struct {
	// now is the last turn that came.
	now turn
	// last is the last turn that was given out in each lane, and waiting counts the parents that wait in it.
	last    [lanes]turn
	waiting [lanes]int
}

// next gives out the next turn of a lane.
func (t *turns) next(of lane) turn {
	if t.waiting[of] == 0 || t.last[of] < t.now {
		t.last[of] = t.now
	}
	t.last[of] += of.pace()
	t.waiting[of]++
	return t.last[of]
}

// othersWait reports whether a parent other than the one that has a turn waits for one.
func (t *turns) othersWait(hasTurn bool) bool {
	waiting := 0
	for _, count := range t.waiting {
		waiting += count
	}
	if hasTurn {
		waiting--
	}
	return waiting > 0
}
