// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// verdicts makes a sync that returns one after the other, and then Done(0).
func verdicts(of ...Verdict) func(*diary, pipeline.Key) Verdict {
	return func(noted *diary, parent pipeline.Key) Verdict {
		if visit := noted.note(parent); visit <= len(of) {
			return of[visit-1]
		}
		return Done(0)
	}
}

// Each case is one parent: at 0 something happens to it, and at the other times that
// are listed.
func TestWhenAParentIsSyncedAgain(t *testing.T) {
	const s = time.Second
	tests := map[string]struct {
		verdicts []Verdict
		changes  []time.Duration
		want     []time.Duration
	}{
		"an event does not use up the sync that was asked for": {
			[]Verdict{Done(10 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 10 * s},
		},
		"a later wish does not put off an earlier one": {
			[]Verdict{Done(10 * s), Done(20 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 10 * s},
		},
		"an earlier wish comes before the one there is, and replaces it": {
			[]Verdict{Done(10 * s), Done(2 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 6 * s},
		},
		"the sync that was asked for uses the wish up": {
			[]Verdict{Done(10 * s), Done(0), Done(7 * s)}, nil, []time.Duration{0, 10 * s},
		},
		"a wish outlives a failure": {
			[]Verdict{Done(10 * s), Failed(0)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 4*s + firstBackoff, 10 * s},
		},
		"a failed sync may ask for another one": {
			[]Verdict{Failed(10 * s)}, nil, []time.Duration{0, firstBackoff, 10 * s},
		},
		"a wait ends when it is over": {
			[]Verdict{Wait(3 * s)}, nil, []time.Duration{0, 3 * s},
		},
		"an event ends a wait": {
			[]Verdict{Wait(3 * s)}, []time.Duration{s}, []time.Duration{0, s},
		},
		"a wait does not put off the sync that was asked for": {
			[]Verdict{Done(10 * s), Wait(20 * s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 10 * s},
		},
		"a wait comes before a later wish, which stays": {
			[]Verdict{Done(10 * s), Wait(s)}, []time.Duration{4 * s}, []time.Duration{0, 4 * s, 5 * s, 10 * s},
		},
		"a wait is no failure": {
			[]Verdict{Wait(s), Wait(s), Wait(s), Failed(0)}, nil, []time.Duration{0, s, 2 * s, 3 * s, 3*s + firstBackoff},
		},
		"a wait does not end the backoff": {
			[]Verdict{Failed(0), Failed(0), Wait(s), Failed(0)}, nil,
			[]time.Duration{0, firstBackoff, 3 * firstBackoff, s + 3*firstBackoff, s + 7*firstBackoff},
		},
		"a wait of no time takes some": {
			[]Verdict{Wait(0)}, nil, []time.Duration{0, firstBackoff},
		},
		"what a parent that is gone asked for is dropped": {
			[]Verdict{Done(10 * s), Gone()}, []time.Duration{4 * s}, []time.Duration{0, 4 * s},
		},
		"a parent that is gone has no backoff": {
			[]Verdict{Failed(0), Failed(0), Gone(), Failed(0)}, []time.Duration{4 * s},
			[]time.Duration{0, firstBackoff, 3 * firstBackoff, 4 * s, 4*s + firstBackoff},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop, noted := start(t, 1, verdicts(test.verdicts...))
				loop.Changed(named("a"))
				for _, at := range test.changes {
					time.Sleep(at - time.Since(noted.started))
					loop.Changed(named("a"))
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
