// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

// turn says when a waiting parent is synced: the smallest turn is next. It is zero while the time of the parent has not
// come.
type turn int

// line is where a parent waits. The fastest comes first, and a parent moves only to one that comes earlier. The parents
// of a line are synced in the order in which they came. Two turns of a line are as far apart as its pace, so each line
// has its share of the syncs while others wait, and nothing waits forever if more parents change than can be synced
// (S. J. Golestani, "A self-clocked fair queueing scheme for broadband applications", INFOCOM 1994).
type line int

const (
	// changed are parents that changed.
	changed line = iota
	// asked are parents whose sync a user has requested.
	asked
	// started are parents that the controller, which has just started, has not synced yet.
	started
	// again are parents that asked for another sync at the end of their last one.
	again
	// affected are parents whose status, children or related objects changed. Most of that is what syncs have written, so
	// the parents that have yet to be synced come first, and those that wait are synced once after several such changes.
	affected
	// all are parents that are synced because all are.
	all
	lines
)

// lineOf returns where a parent waits because of a cause.
func lineOf(cause Cause) line {
	switch cause {
	case Asked:
		return asked
	case Due, Retry:
		return again
	case ControllerStarted:
		return started
	case SchemaChanged, Resync:
		return all
	case ParentChanged:
		return changed
	default:
		return affected
	}
}

// pace is how many turns lie between two turns of the line.
func (l line) pace() turn {
	return [...]turn{changed: 1, asked: 4, started: 4, again: 4, affected: 16, all: 32}[l]
}

// turns gives out turns.
type turns struct {
	// now is the last turn that came.
	now turn
	// last is the last turn that was given out in each line, and waiting is how many parents wait in it.
	last    [lines]turn
	waiting [lines]int
}

// next gives out the next turn of a line.
func (t *turns) next(of line) turn {
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
