// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// A hook is down when that many calls in a row were not answered. Then one parent at a time
// is a probe: it is tried after the first pause, which doubles up to the longest with
// every probe in vain. If it is called about several versions of the parent, all these calls
// are the probe, since a single answer would not make a sync.
const (
	failuresToOpen = 5
	minPause       = time.Second
	maxPause       = 15 * time.Second
)

// changeInterval is how far apart the calls are, while the hook is down, about parents that
// have changed since their last call.
const changeInterval = time.Second

// CircuitOpenError is the error of a call that was not made because the hook is down.
type CircuitOpenError struct {
	// After is when the parent is to be looked at again. All parents are, so that soon
	// after the hook has come back all of them have been synced.
	After time.Duration
}

func (d *CircuitOpenError) Error() string {
	return fmt.Sprintf("the hook does not answer, and is not called about this parent within the next %s", d.After)
}

// circuitBreaker bounds the calls of a hook that is down: about each parent it is called once, then for probes, and now
// and then about a parent that has changed. Of a call about an earlier version it is told the
// parent as it is. The zero value is of a hook that is not down.
type circuitBreaker struct {
	mu sync.Mutex
	// failures counts the calls in a row that were not answered, and failed has the parents that
	// they were about, with the hashes of what these were like.
	failures int
	failed   map[types.UID]uint64
	// pause is the one after which a probe may come, at next; probe is the parent of the
	// one under way, if probing.
	pause time.Duration
	next  time.Time
	// last is why the last call was not answered.
	last    error
	probing bool
	probe   types.UID
	// nextChange is when a parent that has changed may be tried, and first the one that was
	// told to come then, if any. The others come with the probes: all at once, every
	// second, they would keep the process busy for nothing.
	nextChange time.Time
	first      types.UID
}

// allow returns nil if the call about a parent may be made, and then done must follow;
// otherwise the error is a *Down.
func (b *circuitBreaker) allow(parent *object.Object, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < failuresToOpen {
		return nil
	}
	as, tried := b.failed[parent.UID]
	changed := as != parent.Hash
	switch {
	case !tried || b.probing && b.probe == parent.UID:
		return nil
	case changed && !now.Before(b.nextChange):
		b.nextChange, b.first = now.Add(changeInterval), ""
		return nil
	case !b.probing && !now.Before(b.next):
		b.probing, b.probe = true, parent.UID
		return nil
	case changed && (b.first == "" || b.first == parent.UID):
		b.first = parent.UID
		return &CircuitOpenError{After: b.nextChange.Sub(now)}
	case b.probing:
		return &CircuitOpenError{After: b.pause}
	default:
		return &CircuitOpenError{After: b.next.Sub(now)}
	}
}

// done notes how a call that was admitted ended.
func (b *circuitBreaker) done(parent *object.Object, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if Answered(err) {
		b.last = nil
		b.failures, b.failed, b.pause, b.probing, b.first = 0, nil, 0, false, ""
		return
	}
	if b.failed == nil {
		b.failed = map[types.UID]uint64{}
	}
	b.failed[parent.UID] = parent.Hash
	b.failures++
	b.last = err
	if b.failures == failuresToOpen || b.probing && b.probe == parent.UID {
		b.pause = min(max(2*b.pause, minPause), maxPause)
		b.next = now.Add(b.pause)
		b.probing = false
	}
}

// cause is why the hook counts as down; nil if it does not. One that refuses is there, though
// it is called as seldom: it may refuse a single parent because of a mistake in that.
func (b *circuitBreaker) cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if refused, ok := errors.AsType[*statusError](b.last); b.failures < failuresToOpen || ok && refused.fromHook() {
		return nil
	}
	return b.last
}

// Answered tells whether a call that ended so has shown that the hook is there. An answer
// that cannot be read does, and so does the request to be called later.
func Answered(err error) bool {
	_, later := errors.AsType[*ThrottledError](err)
	return err == nil || later || errors.Is(err, ErrUnreadable)
}
