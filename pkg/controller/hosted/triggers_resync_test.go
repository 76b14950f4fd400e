// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/ptr"
)

// A resyncPeriodSeconds that is longer than the period of the process had no effect.
func TestQ33EachResyncPeriodHoldsBesideTheOther(t *testing.T) {
	const m = time.Minute
	tests := map[string]struct {
		periods []time.Duration
		want    []time.Duration
	}{
		"that of the spec is longer":  {[]time.Duration{45 * m, 30 * m}, []time.Duration{30 * m, 45 * m, 60 * m, 90 * m, 90 * m, 120 * m}},
		"that of the spec is shorter": {[]time.Duration{50 * m, 70 * m}, []time.Duration{50 * m, 70 * m, 100 * m}},
		"the process has none":        {[]time.Duration{60 * m, 0}, []time.Duration{60 * m, 120 * m}},
		"the spec has none":           {[]time.Duration{0, 60 * m}, []time.Duration{60 * m, 120 * m}},
		"there is none":               {[]time.Duration{0, 0}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var times []time.Duration
				started := time.Now()
				stop := every(t.Context(), test.periods, func() {
					mu.Lock()
					defer mu.Unlock()
					times = append(times, time.Since(started))
				})
				time.Sleep(125 * m)
				stop()
				time.Sleep(125 * m)
				if !slices.Equal(times, test.want) {
					t.Errorf("resynced after %v, want %v", times, test.want)
				}
			})
		})
	}
}

func TestQ33TheShortestResyncPeriodIsASecond(t *testing.T) {
	for want, seconds := range map[time.Duration]*int32{
		time.Second:    ptr.To[int32](0),
		24 * time.Hour: ptr.To[int32](86400),
		0:              nil,
	} {
		var spec Spec
		spec.ResolveResync(seconds)
		if spec.Resync != want {
			t.Errorf("%v seconds give a period of %s, want %s", seconds, spec.Resync, want)
		}
	}
}
