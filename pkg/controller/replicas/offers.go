// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"maps"
	"slices"
	"time"
)

const (
	// offerPeriod is how long free units wait for the replica to which they are assigned to take one of them.
	offerPeriod = 3 * time.Second
	// passPeriod is how long a replica that has not taken one in that time is passed over. The period doubles each further time
	// up to maxPassPeriod, until the replica takes one. Otherwise running units would be moved to it again and again.
	passPeriod    = 10 * time.Second
	maxPassPeriod = 5 * time.Minute
)

// Offers finds the replicas that do not take the units that are assigned to them, although they renew their Leases. Such a
// replica may not reach its storage, or it was killed and its Lease has not expired.
type Offers struct {
	// offered are the replicas to which free units are assigned, by unit.
	offered map[string]string
	// since is when each of these replicas has last taken one, or got the first.
	since map[string]time.Time
	// passed are the replicas that have not taken one since they were passed over.
	passed map[string]passedOver
}

// passedOver is how long a replica is passed over this time, and until when.
type passedOver struct {
	period time.Duration
	until  time.Time
}

// Takers returns the replicas that are not passed over. It forgets those that are not alive.
func (o *Offers) Takers(alive []string, now time.Time) []string {
	maps.DeleteFunc(o.passed, func(replica string, _ passedOver) bool { return !slices.Contains(alive, replica) })
	return slices.DeleteFunc(slices.Clone(alive), func(replica string) bool { return now.Before(o.passed[replica].until) })
}

// Note notes to which replicas free units are assigned, by unit, and which replica runs each unit. It returns the replicas that
// are passed over from now on.
func (o *Offers) Note(free map[string]string, runnerOf func(unit string) string, now time.Time) (passed []string) {
	since := map[string]time.Time{}
	for _, to := range free {
		since[to] = now
		if before, waits := o.since[to]; waits {
			since[to] = before
		}
	}
	for unit, to := range o.offered {
		if runnerOf(unit) != to {
			continue
		}
		delete(o.passed, to)
		if _, waits := since[to]; waits {
			since[to] = now
		}
	}
	for to, before := range since {
		if now.Before(o.passed[to].until) || now.Sub(before) < offerPeriod {
			continue
		}
		period := min(max(passPeriod, 2*o.passed[to].period), maxPassPeriod)
		if o.passed == nil {
			o.passed = map[string]passedOver{}
		}
		o.passed[to] = passedOver{period, now.Add(period)}
		passed = append(passed, to)
	}
	o.offered, o.since = free, since
	return passed
}
