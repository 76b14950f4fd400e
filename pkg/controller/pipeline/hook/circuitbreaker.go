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

// CircuitOpenError is the error of a call that was not made because the circuit is open: the hook
// counts as down.
type CircuitOpenError struct {
	// After is the time after which the parent is synced again. Every parent gets such a time so that all are synced
	// soon after the hook is back.
	After time.Duration
}

func (e *CircuitOpenError) Error() string {
	return fmt.Sprintf("the hook does not answer; the server does not call it for this parent within the next %s", e.After)
}

// A hook counts as down after failuresToOpen calls in a row without an answer. Then it is probed, first after minPause.
// The pause doubles with every probe that fails, up to maxPause. A parent may wait for two pauses after the hook is back:
// until the next probe and, if its turn comes during the probe, as long again. Both together are at most 15 seconds.
const (
	failuresToOpen = 5
	minPause       = time.Second
	maxPause       = 7 * time.Second
	// changeInterval is the time between calls about changed parents while the hook is down.
	changeInterval = time.Second
)

// circuitBreaker limits the calls of a hook that is down. While the circuit is open, only these calls are made:
//
//   - one call about each parent,
//   - probes: calls about one parent at a time, after a pause. If a sync makes several calls, about several versions of
//     the parent, all of them are one probe, because the sync needs all answers,
//   - every changeInterval, a call about a parent that has changed, or whose sync a user has requested, since the last
//     call about it.
//
// A call for an earlier version of a parent counts as a call for the current parent. The zero value is a closed
// circuit.
type circuitBreaker struct {
	mu sync.Mutex
	// failures counts the calls in a row without an answer. failed has the parents of these calls with their content
	// hashes. If a user has requested a sync of a parent, the parent has another hash here, so it counts as changed
	// until its next call.
	failures int
	failed   map[types.UID]uint64
	// pause is the time from the start of a probe to the start of the next one, which may start at next. While
	// probing, probe is the parent of the probe, and began is the time at which it started.
	pause time.Duration
	next  time.Time
	began time.Time
	// last is the error of the last call; nil if it was answered.
	last    error
	probing bool
	probe   types.UID
	// nextChange is the time from which a call for a changed parent may be made. first is the parent that is synced
	// again at that time, if any. All other changed parents wait for the probes, because syncing all of them every
	// second would only keep the process busy.
	nextChange time.Time
	first      types.UID
}

// allow returns nil if the call about a parent may be made; then done must follow. Otherwise it returns a
// *CircuitOpenError. requested is true if a user has requested the sync.
func (b *circuitBreaker) allow(parent *object.Object, requested bool, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < failuresToOpen {
		return nil
	}
	hash, tried := b.failed[parent.UID]
	if tried && requested {
		hash = ^parent.Hash
		b.failed[parent.UID] = hash
	}
	changed := hash != parent.Hash
	switch {
	case !tried || b.probing && b.probe == parent.UID:
		return nil
	case changed && !now.Before(b.nextChange):
		b.nextChange, b.first = now.Add(changeInterval), ""
		return nil
	case !b.probing && !now.Before(b.next):
		b.probing, b.probe, b.began = true, parent.UID, now
		return nil
	case changed && (b.first == "" || b.first == parent.UID):
		b.first = parent.UID
		return &CircuitOpenError{After: b.nextChange.Sub(now)}
	default:
		return &CircuitOpenError{After: b.untilProbe(now)}
	}
}

// untilProbe returns the time after which a parent that waits for the hook is synced again. The caller holds mu.
func (b *circuitBreaker) untilProbe(now time.Time) time.Duration {
	if b.probing {
		return b.pause
	}
	return max(b.next.Sub(now), 1)
}

// done records how a call that allow has admitted ended. If it failed and the circuit is open, done returns the time
// after which the parent is synced again; else zero. That time replaces the backoff of the parent: if each probed
// parent waited longer than the pause, no parent would be left to probe with.
func (b *circuitBreaker) done(parent *object.Object, err error, now time.Time) (retryAfter time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if Answered(err) {
		b.last = nil
		b.failures, b.failed, b.pause, b.probing, b.first = 0, nil, 0, false, ""
		return 0
	}
	if _, ok := errors.AsType[*oldConnectionError](err); ok && b.failures < failuresToOpen {
		b.last = err
		return 0 // the next call has a new connection, and shows more
	}
	if b.failed == nil {
		b.failed = map[types.UID]uint64{}
	}
	b.failed[parent.UID] = parent.Hash
	b.failures++
	b.last = err
	if isProbe := b.probing && b.probe == parent.UID; isProbe || b.failures == failuresToOpen {
		b.pause = min(max(2*b.pause, minPause), maxPause)
		b.next = now.Add(b.pause)
		if isProbe { // it may have taken long to fail
			b.next = latest(b.began.Add(b.pause), now.Add(minPause))
		}
		b.probing = false
	}
	if b.failures < failuresToOpen {
		return 0
	}
	return b.untilProbe(now)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// cause returns why the hook counts as down, or nil if it does not. A hook that responds with an error status or a page
// is not down, although it is called as rarely: a mistake in one parent may cause the error.
func (b *circuitBreaker) cause() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	status, isStatus := errors.AsType[*statusError](b.last)
	_, isPage := errors.AsType[*pageError](b.last)
	if b.failures < failuresToOpen || isPage || isStatus && status.fromHook() {
		return nil
	}
	return b.last
}
