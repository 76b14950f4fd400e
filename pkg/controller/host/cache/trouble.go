// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"time"
)

// trouble is the error that keeps the reflector of a store from following the host. The informer's lock guards it.
type trouble struct {
	// listRefused and watchRefused are requests that failed. A list that succeeds ends the first, a
	// watch that does ends both.
	listRefused, watchRefused failure
	// broken is a watch that ended in an error, or as soon as it had begun. Only progress ends it: a
	// change, or a watch that has lasted for some time.
	broken failure
	// opened is the time at which the open watch began to send changes, or zero if no watch is open.
	opened time.Time
	// closed is the time at which the last watch ended. It is zero if a watch is open, or before the first watch.
	closed time.Time
}

// failure is since when and why something fails; zero if it does not.
type failure struct {
	since time.Time
	err   error
}

func (f *failure) set(err error) {
	f.err = err
	if f.since.IsZero() {
		f.since = time.Now()
	}
}

// isOlderThan reports whether it fails, and has for so long.
func (f *failure) isOlderThan(age time.Duration) bool {
	return !f.since.IsZero() && time.Since(f.since) >= age
}

// enough is the shortest duration of a watch that does not count as trouble.
const enough = 5 * time.Second

// maxUnwatched bounds the time without a watch after one has ended. The host may have to list all objects in
// between.
const maxUnwatched = time.Minute

// listed is called with the result of a request for a list. One that succeeds says nothing about
// watches: the host may allow the one and refuse the other.
func (t *trouble) listed(err error) {
	if err != nil {
		t.listRefused.set(err)
	} else {
		t.listRefused = failure{}
	}
}

// watched is called with the result of a request for a watch.
func (t *trouble) watched(err error) {
	if err != nil {
		t.watchRefused.set(err)
	} else {
		t.listRefused, t.watchRefused = failure{}, failure{}
	}
}

// begins is called when a watch begins to send changes.
func (t *trouble) begins() { t.opened, t.closed = time.Now(), time.Time{} }

// ends is called when a watch ends. The error is nil if it ended as watches do.
func (t *trouble) ends(err error) {
	if t.hasLasted() {
		t.broken = failure{}
	}
	t.opened, t.closed = time.Time{}, time.Now()
	if err != nil {
		t.broken.set(err)
	}
}

// progresses is called when a watch has sent a change, and when the first list is complete.
func (t *trouble) progresses() { t.broken = failure{} }

func (t *trouble) hasLasted() bool { return !t.opened.IsZero() && time.Since(t.opened) >= enough }

// err returns the error that has lasted for at least minAge; nil if there is none.
func (t *trouble) err(minAge time.Duration) error {
	switch {
	case t.watchRefused.isOlderThan(minAge):
		return t.watchRefused.err
	case t.listRefused.isOlderThan(minAge):
		return t.listRefused.err
	case t.broken.isOlderThan(minAge) && !t.hasLasted():
		return t.broken.err
	case !t.closed.IsZero() && time.Since(t.closed) >= maxUnwatched:
		return fmt.Errorf("the cluster has not completed its response to the next list or watch since %s",
			t.closed.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}
