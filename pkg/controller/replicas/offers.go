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
	// passPeriod is how long a replica that has not taken one in that time is passed over.
	passPeriod = 10 * time.Second
)

// Offers finds the replicas that do not take the units that are assigned to them, although they renew their Leases. Such a
// replica may not reach its storage, or it was killed and its Lease has not expired.
type Offers struct {
	// offered are the replicas to which free units are assigned, by unit.
	offered map[string]string
	// since is when each of these replicas has last taken one, or got the first.
	since map[string]time.Time
	// passed is until when replicas are passed over.
	passed map[string]time.Time
}

// Takers returns the replicas that are not passed over.
func (o *Offers) Takers(alive []string, now time.Time) []string {
	return slices.DeleteFunc(slices.Clone(alive), func(replica string) bool { return now.Before(o.passed[replica]) })
}

// Note notes to which replicas free units are assigned, by unit. It returns the replicas that are passed over from now on.
func (o *Offers) Note(free map[string]string, now time.Time) (passed []string) {
	since := map[string]time.Time{}
	for _, to := range free {
		since[to] = now
		if before, waits := o.since[to]; waits {
			since[to] = before
		}
	}
	for unit, to := range o.offered {
		if _, waits := since[to]; waits && free[unit] != to {
			since[to] = now
		}
	}
	maps.DeleteFunc(o.passed, func(_ string, until time.Time) bool { return !now.Before(until) })
	for to, before := range since {
		if now.Sub(before) < offerPeriod {
			continue
		}
		passed = append(passed, to)
		if o.passed == nil {
			o.passed = map[string]time.Time{}
		}
		o.passed[to] = now.Add(passPeriod)
	}
	o.offered, o.since = free, since
	return passed
}
