// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// results makes a sync that returns one after the other, and then Done(0).
func results(of ...Result) func(*diary, object.Key) Result {
	return func(noted *diary, parent object.Key) Result {
		if visit := noted.note(parent); visit <= len(of) {
			return of[visit-1]
		}
		return Done(0)
	}
}

// Each case is one parent. It has an event at 0 and at the listed times.
func TestWhenAParentIsSyncedAgain(t *testing.T) {
	const s = time.Second
	tests := map[string]struct {
		results []Result
		changes []time.Duration
		want    []time.Duration
	}{
		"an event does not use up the sync that was asked for": {
			[]Result{Done(10 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 10 * s},
		},
		"a later wish does not put off an earlier one": {
			[]Result{Done(10 * s), Done(20 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 10 * s},
		},
		"an earlier wish comes before the one there is, and replaces it": {
			[]Result{Done(10 * s), Done(2 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 6 * s},
		},
		"the sync that was asked for uses the wish up": {
			[]Result{Done(10 * s), Done(0), Done(7 * s)}, nil, []time.Duration{0, 10 * s},
		},
		"a wish outlives a failure": {
			[]Result{Done(10 * s), Backoff(0)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 4*s + minBackoff, 10 * s},
		},
		"a failed sync may ask for another one": {
			[]Result{Backoff(10 * s)}, nil, []time.Duration{0, minBackoff, 10 * s},
		},
		"a wait ends when it is over": {
			[]Result{RequeueAfter(3 * s)}, nil, []time.Duration{0, 3 * s},
		},
		"a limit is a sync without an event": {
			[]Result{Done(0).Within(3 * s)}, nil, []time.Duration{0, 3 * s},
		},
		"an event uses up a limit": {
			[]Result{Done(0).Within(3 * s)}, []time.Duration{s}, []time.Duration{0, s},
		},
		"a limit comes before a longer wait": {
			[]Result{RequeueAfter(20 * s).Within(3 * s)}, nil, []time.Duration{0, 3 * s},
		},
		"a limit does not put off a retry": {
			[]Result{Backoff(0).Within(3 * s)}, nil, []time.Duration{0, minBackoff},
		},
		"a limit comes before a later wish, which stays": {
			[]Result{Done(10 * s).Within(3 * s)}, nil, []time.Duration{0, 3 * s, 10 * s},
		},
		"an event ends a wait": {
			[]Result{RequeueAfter(3 * s)}, []time.Duration{s}, []time.Duration{0, s},
		},
		"a wait does not put off the sync that was asked for": {
			[]Result{Done(10 * s), RequeueAfter(20 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 10 * s},
		},
		"a wait comes before a later wish, which stays": {
			[]Result{Done(10 * s), RequeueAfter(s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 5 * s, 10 * s},
		},
		"a wait is no failure": {
			[]Result{RequeueAfter(s), RequeueAfter(s), RequeueAfter(s), Backoff(0)}, nil, []time.Duration{0, s, 2 * s, 3 * s, 3*s + minBackoff},
		},
		"a wait does not end the backoff": {
			[]Result{Backoff(0), Backoff(0), RequeueAfter(s), Backoff(0)}, nil,
			[]time.Duration{0, minBackoff, 3 * minBackoff, s + 3*minBackoff, s + 7*minBackoff},
		},
		"a wait of no time takes some": {
			[]Result{RequeueAfter(0)}, nil, []time.Duration{0, minBackoff},
		},
		"what a parent that is gone asked for is dropped": {
			[]Result{Done(10 * s), Forget()}, []time.Duration{4 * s}, []time.Duration{0, 4 * s},
		},
		"a parent that is gone has no backoff": {
			[]Result{Backoff(0), Backoff(0), Forget(), Backoff(0)}, []time.Duration{4 * s},
			[]time.Duration{0, minBackoff, 3 * minBackoff, 4 * s, 4*s + minBackoff},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue, noted := start(t, 1, results(test.results...))
				queue.Enqueue(ParentChanged, named("a"))
				for _, at := range test.changes {
					time.Sleep(at - time.Since(noted.started))
					queue.Enqueue(ParentChanged, named("a"))
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if !slices.Equal(noted.times, test.want) {
					t.Errorf("synced after %v, want %v", noted.times, test.want)
				}
			})
		})
	}
}
