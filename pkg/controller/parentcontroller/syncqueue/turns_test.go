// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package syncqueue

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
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
	alloctest.AtMost(t, 0, func() {
		noted.note(Resync, now, a)
		noted.take(a, noted.of[a].turn, now)
	})
}

// busy begins the names of parents that change once a second. A sync takes a fifth of a second, so five workers keep up
// with 25 of them.
const busy = "busy-"

// overload has parents change for five minutes, and calls begun after half a minute. It returns when the other parents
// were synced since.
func overload(
	t *testing.T, changing int, result func(object.Key) Result, begun func(*Queue),
) map[string][]time.Duration {
	t.Helper()
	var mu sync.Mutex
	syncs := map[string][]time.Duration{}
	began := time.Now()
	queue, _ := start(t, 5, func(_ *diary, parent object.Key) Result {
		<-time.After(200 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		if !strings.HasPrefix(parent.Name, busy) {
			syncs[parent.Name] = append(syncs[parent.Name], time.Since(began))
		}
		return result(parent)
	})
	for second := range 300 {
		if second == 30 {
			mu.Lock()
			clear(syncs)
			began = time.Now()
			mu.Unlock()
			begun(queue)
		}
		for i := range changing {
			queue.Enqueue(ParentChanged, named(fmt.Sprint(busy, i)))
			<-time.After(time.Second / time.Duration(changing))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(syncs)
}

func TestWhateverWaitsHasItsTurnAlthoughMoreChangesThanCanBeSynced(t *testing.T) {
	tests := map[string]struct {
		result Result
		cause  Cause
		// want is how many syncs there are at least in four and a half minutes.
		want int
	}{
		"a parent that asks for a sync each 10 s": {Done(10 * time.Second), ParentChanged, 20},
		"a finalizer that waits 5 s":              {Done(5 * time.Second), ParentChanged, 35},
		"a write that is not seen yet":            {RequeueAfter(100 * time.Millisecond), ChildChanged, 100},
		"a failure":                               {Backoff(0), ParentChanged, 12},
		"a sync that a user asked for":            {Done(0), Asked, 1},
		"a resync":                                {Done(0), Resync, 1},
		"the first sync":                          {Done(0), ControllerStarted, 1},
	}
	for name, test := range tests {
		for _, changing := range []int{26, 40} {
			t.Run(fmt.Sprintf("%s, %d change", name, changing), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					syncs := overload(t, changing, func(parent object.Key) Result {
						if parent.Name == "quiet" {
							return test.result
						}
						return Done(0)
					}, func(queue *Queue) { queue.Enqueue(test.cause, named("quiet")) })["quiet"]
					if len(syncs) < test.want || syncs[0] > 3*time.Second {
						t.Errorf("there were %d syncs, want %d, at %v", len(syncs), test.want, syncs)
					}
				})
			})
		}
	}
}

// A thousand parents are resynced, which takes 40 s. Half a minute later, one of them changes.
func TestAChangeDoesNotWaitForAResync(t *testing.T) {
	causes := map[string]Cause{"of all parents": Resync, "that was asked for": Asked, "of failures": Retry}
	for name, cause := range causes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue, noted := start(t, 5, func(noted *diary, parent object.Key) Result {
					noted.note(parent)
					<-time.After(200 * time.Millisecond)
					return Done(0)
				})
				for i := range 1000 {
					if cause == Retry {
						queue.wakes.noteLater(Retry, time.Now().Add(time.Second), named(fmt.Sprint(i)))
						queue.add(named(fmt.Sprint(i)), outOfTurn, time.Second)
						continue
					}
					queue.Enqueue(cause, named(fmt.Sprint(i)))
				}
				<-time.After(30 * time.Second)
				changed := time.Since(noted.started)
				queue.Enqueue(ParentChanged, named("changed"))
				<-time.After(time.Minute)
				noted.mu.Lock()
				defer noted.mu.Unlock()
				for i, name := range noted.names {
					if waited := noted.times[i] - changed; name == "changed" && waited > 400*time.Millisecond {
						t.Errorf("the parent that changed waited %s", waited)
					}
				}
				if len(noted.names) != 1001 {
					t.Errorf("%d parents were synced, want 1001", len(noted.names))
				}
			})
		})
	}
}

// A user does not wait for the first syncs of thousands of parents.
func TestARequestOvertakesTheFirstSyncs(t *testing.T) {
	waiting := wakes{of: map[object.Key]wake{}}
	now := time.Now()
	var last turn
	for i := range 1000 {
		last = waiting.note(ControllerStarted, now, named(fmt.Sprint(i)))
	}
	if asked := waiting.note(Asked, now, named("999")); asked > last/100 {
		t.Errorf("the request has turn %d, and the last of the first syncs %d", asked, last)
	}
}
