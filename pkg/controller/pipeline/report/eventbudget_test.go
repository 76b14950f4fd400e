// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"
)

func TestKindsOfMessages(t *testing.T) {
	for name, test := range map[string]struct{ message, want string }{
		"words stay":           {"no answer, at all", "no answer, at all"},
		"a number goes":        {"no answer after 120 ms", "no answer after # ms"},
		"a time goes":          {"since 2026-03-04T05:06:07Z.", "since #-#-#:#:#."},
		"a hash goes":          {"revision 7f3ab9 is gone", "revision # is gone"},
		"a random name goes":   {`Pod default/web-x7k2p: no`, `Pod default/web-#: no`},
		"an address goes":      {"dial tcp 10.0.0.1:8080: refused", "dial tcp #.#.#.#:#: refused"},
		"other letters stay":   {"für über", "für über"},
		"an empty one is one":  {"", ""},
		"a number at the ends": {"1 of 2", "# of #"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withoutNumbers(test.message); got != test.want {
				t.Errorf("%q becomes %q, want %q", test.message, got, test.want)
			}
		})
	}
}

// However many kinds of messages there are, the events about an object are bounded.
func TestEachReasonHasABudget(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	budgets := newReasonBudgets(EventOptions{QPS: 1. / 300, Burst: 25}, clock)
	spent := func(reason, name string) (events int) {
		for budgets.take(&corev1.Event{Reason: reason, InvolvedObject: corev1.ObjectReference{Name: name}}) {
			events++
		}
		return events
	}
	for _, step := range []struct {
		what         string
		reason, name string
		after        time.Duration
		want         int
	}{
		{"a burst", "SyncError", "shop", 0, 200},
		{"another reason", "FinalizeWaiting", "shop", 0, 200},
		{"another object", "SyncError", "cafe", 0, 200},
		{"the first one five minutes later", "SyncError", "shop", 5*time.Minute + time.Second, 8},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		if got := spent(step.reason, step.name); got != step.want {
			t.Errorf("%s: %d events are written, want %d", step.what, got, step.want)
		}
	}
}
