// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestWhyAParentIsSynced(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		causes []Cause
		want   Cause
	}{
		"one cause":                              {[]Cause{ChildChanged}, ChildChanged},
		"of several, the one that tells most":    {[]Cause{Resync, ChildChanged, RelatedChanged}, ChildChanged},
		"a change of the parent tells more":      {[]Cause{ChildChanged, ParentChanged}, ParentChanged},
		"a user who asked is told of first":      {[]Cause{ParentChanged, Asked, Retry}, Asked},
		"a retry is told of if nothing else was": {[]Cause{Retry}, Retry},
	} {
		t.Run(name, func(t *testing.T) {
			noted := wakes{of: map[object.Key]wake{}}
			for _, cause := range test.causes {
				noted.note(cause, now, named("a"))
				noted.note(cause, now, named("b"))
			}
			taken, isNoted, isNext := noted.take(named("a"), noted.of[named("a")].turn, now)
			if got := taken.strongest(); !isNoted || !isNext || got != test.want {
				t.Errorf("the cause is %s, want %s", got, test.want)
			}
			if again, isNoted, _ := noted.take(named("a"), 0, now); isNoted {
				t.Errorf("the cause of the next sync is %s", again.strongest())
			}
		})
	}
}

func TestSyncsAreToldTheirCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Cause
		results := []Result{Backoff(0), Done(time.Minute), Done(0)}
		queue := New(t.Name(), 1, nil, func(_ context.Context, _ object.Key, cause Cause) Result {
			told = append(told, cause)
			return results[len(told)-1]
		})
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		queue.Enqueue(RelatedChanged, named("a"))
		queue.Run(ctx)
		want := []Cause{RelatedChanged, Retry, Due}
		if len(told) != len(want) {
			t.Fatalf("the causes are %v, want %v", told, want)
		}
		for i := range want {
			if told[i] != want[i] {
				t.Errorf("cause %d is %s, want %s", i, told[i], want[i])
			}
		}
	})
}

func TestWakesOfAQuietQueueAllocateNothing(t *testing.T) {
	noted, now := wakes{of: map[object.Key]wake{}}, time.Now()
	noted.note(Resync, now, named("a"))
	noted.take(named("a"), 1, now)
	a := named("a")
	alloctest.Exactly(t, 0, func() {
		noted.note(Resync, now, a)
		noted.take(a, noted.of[a].turn, now)
	})
}
