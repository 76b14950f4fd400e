// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var errRefused = errors.New("http error: connection refused")

func parentOf(uid string, hash uint64) *object.Object {
	return &object.Object{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Hash: hash}
}

// calling is a hook that is called about parents at times that the test chooses.
type calling struct {
	*testing.T
	breaker circuitBreaker
	now     time.Time
}

// call makes a call about a parent. If the circuit is open, it returns how long the parent has to
// wait.
func (c *calling) call(parent *object.Object, result error) (wait time.Duration) {
	c.Helper()
	return c.callFor(false, parent, result)
}

// askedCall is call in a sync that a user asked for.
func (c *calling) askedCall(parent *object.Object, result error) (wait time.Duration) {
	c.Helper()
	return c.callFor(true, parent, result)
}

func (c *calling) callFor(asked bool, parent *object.Object, result error) (wait time.Duration) {
	c.Helper()
	if err := c.breaker.allow(parent, asked, c.now); err != nil {
		down, ok := errors.AsType[*CircuitOpenError](err)
		if !ok || down.After <= 0 {
			c.Fatalf("the error is %v", err)
		}
		return down.After
	}
	c.breaker.done(parent, result, c.now)
	return 0
}

// down makes the hook fail for the parent "a" until it counts as down.
func (c *calling) down() {
	c.Helper()
	for range failuresToOpen {
		if c.call(parentOf("a", 1), errRefused) != 0 {
			c.Fatal("the hook was taken to be down too early")
		}
	}
}

func TestAHookIsDownAfterAFewFailures(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	for range 100 {
		for range failuresToOpen - 1 {
			c.call(parentOf("a", 1), errRefused)
		}
		if wait := c.call(parentOf("a", 1), nil); wait != 0 {
			t.Fatalf("after %d failures the parent had to wait %s", failuresToOpen-1, wait)
		}
	}
	c.down()
	if wait := c.call(parentOf("a", 1), nil); wait != minPause {
		t.Errorf("the parent has to wait %s, want %s", wait, minPause)
	}
}

func TestProbesOfAHookThatIsDown(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	c.down()
	for _, pause := range []time.Duration{1, 2, 4, 7, 7, 7} {
		pause *= time.Second
		c.now = c.now.Add(pause - 1)
		if wait := c.call(parentOf("a", 1), errRefused); wait != 1 {
			t.Errorf("just before the end of a pause of %s the wait is %s", pause, wait)
		}
		c.now = c.now.Add(1)
		if wait := c.call(parentOf("a", 1), errRefused); wait != 0 {
			t.Errorf("after a pause of %s the wait is %s", pause, wait)
		}
	}
}

func TestOneProbeAtATime(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	c.down()
	c.call(parentOf("b", 1), errRefused)
	c.now = c.now.Add(minPause)
	if err := c.breaker.allow(parentOf("a", 1), false, c.now); err != nil {
		t.Fatalf("no probe: %v", err)
	}
	c.now = c.now.Add(time.Hour)
	if wait := c.call(parentOf("b", 1), errRefused); wait != minPause {
		t.Errorf("during a probe, another parent has to wait %s, want %s", wait, minPause)
	}
	c.breaker.done(parentOf("a", 1), errRefused, c.now)
	if wait := c.call(parentOf("b", 1), errRefused); wait != minPause {
		t.Errorf("after a probe that took long, another parent has to wait %s, want %s", wait, minPause)
	}
}

func TestAParentWhoseCallFailsComesBackForTheNextProbe(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	fail := func(parent string) time.Duration {
		t.Helper()
		if err := c.breaker.allow(parentOf(parent, 1), false, c.now); err != nil {
			t.Fatal(err)
		}
		return c.breaker.done(parentOf(parent, 1), errRefused, c.now)
	}
	for i := range failuresToOpen - 1 {
		if after := fail("a"); after != 0 {
			t.Errorf("after failure %d the pause is %s, want the backoff of the parent", i+1, after)
		}
	}
	for _, want := range []time.Duration{1, 2, 4, 7, 7} {
		if after := fail("a"); after != want*time.Second {
			t.Errorf("the parent is synced again after %s, want %s", after, want*time.Second)
		}
		c.now = c.now.Add(want * time.Second)
	}
	if after := fail("b"); after <= 0 || after > maxPause {
		t.Errorf("another parent is synced again after %s, want the pause at most", after)
	}
}

// A sync in a rollout makes several calls.
func TestAllCallsOfASyncAreOneProbe(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	c.down()
	for _, pause := range []time.Duration{1, 2, 4, 7, 7} {
		c.now = c.now.Add(pause * time.Second)
		admitted := 0
		for range 3 { // at the same time
			if c.breaker.allow(parentOf("a", 1), false, c.now) == nil {
				admitted++
			}
		}
		if admitted != 3 {
			t.Fatalf("after a pause of %d s the hook is called %d times, want 3", pause, admitted)
		}
		for range 3 {
			c.breaker.done(parentOf("a", 1), errRefused, c.now)
		}
		if wait, want := c.call(parentOf("a", 1), nil), min(2*pause, 7)*time.Second; wait != want {
			t.Errorf("after a probe of three calls the wait is %s, want %s", wait, want)
		}
	}
}

// A call about an earlier version of a parent is no sign that the parent has changed.
func TestAHookThatIsDownIsNotCalledAboutEarlierVersions(t *testing.T) {
	called := 0
	hook := webhook(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		called++
		w.WriteHeader(http.StatusServiceUnavailable)
	}), "")
	present, earlier := snapshot(t), snapshot(t)
	version := *present.Parent
	version.Hash++
	earlier.Parent, earlier.Present = &version, present.Parent
	for i := range 5 * failuresToOpen {
		if i == failuresToOpen {
			pauseForLong(hook)
		}
		_, err := hook.SyncComposite(t.Context(), []*pipeline.Snapshot{present, earlier}[i%2])
		if _, down := errors.AsType[*CircuitOpenError](err); down != (i >= failuresToOpen) {
			t.Fatalf("of call %d the error is %v", i, err)
		}
	}
	if called != failuresToOpen {
		t.Errorf("the hook was called %d times, want %d", called, failuresToOpen)
	}
}

// pauseForLong postpones the next probe of a hook that is down, so that no probe is made while the
// test runs.
func pauseForLong(hook *Webhook) { hook.breaker.next = time.Now().Add(time.Hour) }

// A parent whose calls always fail must not keep others from being called about.
func TestWhoIsCalledAboutWhileAHookIsDown(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	c.down()
	if wait := c.call(parentOf("b", 1), errRefused); wait != 0 {
		t.Errorf("a parent that was not tried yet has to wait %s", wait)
	}
	if wait := c.call(parentOf("b", 1), nil); wait == 0 {
		t.Error("a parent that was tried does not have to wait")
	}
	if wait := c.call(parentOf("a", 2), errRefused); wait != 0 {
		t.Errorf("a parent that has changed has to wait %s", wait)
	}
	if wait := c.call(parentOf("a", 2), nil); wait == 0 {
		t.Error("a parent that was tried since it changed does not have to wait")
	}
	c.now = c.now.Add(changeInterval / 4)
	if wait := c.call(parentOf("b", 2), nil); wait != changeInterval*3/4 {
		t.Errorf("another change has to wait %s", wait)
	}
}

// Who has mended a hook and asks for a sync does not wait for the next probe.
func TestAHookThatIsDownIsCalledOnRequest(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	c.down()
	for range 5 { // probes that fail
		c.now = c.now.Add(maxPause)
		c.call(parentOf("a", 1), errRefused)
	}
	c.call(parentOf("b", 1), errRefused)
	if wait := c.askedCall(parentOf("a", 1), errRefused); wait != 0 {
		t.Errorf("a parent that is asked for has to wait %s", wait)
	}
	if wait := c.call(parentOf("a", 1), nil); wait <= changeInterval {
		t.Errorf("after the call it has to wait %s, as all others have", wait)
	}
	c.now = c.now.Add(changeInterval / 4)
	if wait := c.askedCall(parentOf("b", 1), nil); wait != changeInterval*3/4 {
		t.Errorf("another one that is asked for so soon has to wait %s", wait)
	}
	c.now = c.now.Add(changeInterval * 3 / 4)
	if wait := c.call(parentOf("b", 1), nil); wait != 0 {
		t.Errorf("when it is retried, it has to wait %s", wait)
	}
}

// However many parents change while a hook is down, only one of them is synced again for the next
// call about a change.
func TestChangedParentsTakeTurns(t *testing.T) {
	c := &calling{T: t, now: time.Now()}
	c.down()
	for range 5 { // probes that fail
		c.now = c.now.Add(maxPause)
		c.call(parentOf("a", 1), errRefused)
	}
	const parents = 100
	for i := range parents {
		c.call(parentOf(strconv.Itoa(i), 1), errRefused)
	}
	called, woken := 0, 0
	for i := range parents {
		switch wait := c.call(parentOf(strconv.Itoa(i), 2), errRefused); {
		case wait == 0:
			called++
		case wait <= changeInterval:
			woken++
		}
	}
	if called != 1 || woken != 1 {
		t.Errorf("of %d parents that have changed the hook is called about %d and %d are woken for the next call, want 1 each", parents, called, woken)
	}
	c.now = c.now.Add(changeInterval)
	if wait := c.call(parentOf("1", 2), errRefused); wait != 0 {
		t.Errorf("the parent that was woken has to wait %s", wait)
	}
}

func TestWhatShowsThatAHookIsThere(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"an answer":                     {nil, true},
		"an answer that cannot be read": {fmt.Errorf("%w: it is empty", ErrMalformed), true},
		"a request to be called later":  {&ThrottledError{}, true},
		"no connection":                 {errRefused, false},
		"a status that is no answer":    {errors.New("unsupported status code: 503 body: no healthy upstream"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &calling{T: t, now: time.Now()}
			c.down()
			c.now = c.now.Add(minPause)
			c.call(parentOf("a", 1), test.err)
			if there := c.call(parentOf("a", 1), nil) == 0; there != test.want {
				t.Errorf("the hook is there: %v, want %v", there, test.want)
			}
		})
	}
}

func TestAHookThatIsDownIsNotCalled(t *testing.T) {
	called := 0
	hook := webhook(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		called++
		w.WriteHeader(http.StatusServiceUnavailable)
	}), "")
	for range failuresToOpen {
		if _, err := hook.SyncComposite(t.Context(), snapshot(t)); err == nil || !strings.Contains(err.Error(), "unsupported status code: 503 ") {
			t.Errorf("the error is %v", err)
		}
	}
	if hook.breaker.pause != minPause {
		t.Errorf("the pause is %s", hook.breaker.pause)
	}
	pauseForLong(hook)
	_, err := hook.SyncComposite(t.Context(), snapshot(t))
	if down, ok := errors.AsType[*CircuitOpenError](err); !ok || down.After <= 0 || down.After > time.Hour {
		t.Errorf("the error is %v", err)
	}
	if called != failuresToOpen {
		t.Errorf("the hook was called %d times, want %d", called, failuresToOpen)
	}
}

// syncing has the parents of a controller and a simulated hook, which answers or fails after some
// time. It runs in a synctest bubble.
type syncing struct {
	mu      sync.Mutex
	breaker circuitBreaker
	down    bool
	latency time.Duration
	calls   int
	synced  map[object.Key]bool
	loop    *syncqueue.Queue
}

func (c *syncing) sync(_ context.Context, name object.Key, _ syncqueue.Cause) syncqueue.Result {
	parent := parentOf(name.Name, 1)
	if err := c.breaker.allow(parent, false, time.Now()); err != nil {
		down, _ := errors.AsType[*CircuitOpenError](err)
		return syncqueue.RequeueAfter(down.After)
	}
	c.mu.Lock()
	c.calls++
	down, latency := c.down, c.latency
	c.mu.Unlock()
	time.Sleep(latency)
	if down {
		c.breaker.done(parent, errRefused, time.Now())
		return syncqueue.Backoff(0)
	}
	c.breaker.done(parent, nil, time.Now())
	c.mu.Lock()
	c.synced[name] = true
	c.mu.Unlock()
	return syncqueue.Done(0)
}

func (c *syncing) set(down bool, latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down, c.latency, c.calls = down, latency, 0
	clear(c.synced)
}

func (c *syncing) seen() (calls int, synced map[object.Key]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, maps.Clone(c.synced)
}

// All parents change while a hook is down for an hour. The hook is called once about each, and then
// four times a minute. All parents are synced within a minute after it is back.
func TestAHookThatIsDownForAnHour(t *testing.T) {
	const workers = 5
	tests := map[string]struct {
		parents int
		latency time.Duration
	}{
		"and refuses calls":       {1000, 0},
		"and lets calls time out": {200, 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parents, latency := test.parents, test.latency
			synctest.Test(t, func(t *testing.T) {
				c := &syncing{synced: map[object.Key]bool{}}
				c.loop = syncqueue.New(t.Name(), workers, nil, c.sync)
				ctx, cancel := context.WithCancel(t.Context())
				returned := make(chan struct{})
				go func() { defer close(returned); c.loop.Run(ctx) }()
				defer func() { cancel(); <-returned }()

				var names []object.Key
				for i := range parents {
					names = append(names, object.Key{NamespacedName: types.NamespacedName{Name: fmt.Sprint(i)}})
				}
				c.loop.Enqueue(syncqueue.ParentChanged, names...)
				time.Sleep(time.Minute)
				if _, synced := c.seen(); len(synced) != parents {
					t.Fatalf("only %d parents were synced at first", len(synced))
				}

				c.set(true, latency)
				for range 6 {
					c.loop.Enqueue(syncqueue.ParentChanged, names...)
					time.Sleep(10 * time.Minute)
				}
				calls, _ := c.seen()
				if most := parents + failuresToOpen + int(time.Hour/maxPause) + 10; calls > most {
					t.Errorf("the hook was called %d times in an hour, want at most %d", calls, most)
				}

				c.set(false, time.Millisecond)
				time.Sleep(time.Minute)
				again, synced := c.seen()
				missing := slices.DeleteFunc(slices.Clone(names), func(name object.Key) bool { return synced[name] })
				if len(missing) > 0 {
					t.Errorf("a minute after the hook is back %d parents were not synced", len(missing))
				}
				if again > parents+workers {
					t.Errorf("when it was back, the hook was called %d times", again)
				}
				t.Logf("%d calls in the hour, %d in the minute after", calls, again)
			})
		})
	}
}

func TestAHookThatRefusesIsNotDown(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"no connection":              {errRefused, true},
		"a mistake in a parent":      {&statusError{status: http.StatusBadRequest}, false},
		"an exception in the hook":   {&statusError{status: http.StatusInternalServerError}, false},
		"nobody behind the gateway":  {&statusError{status: http.StatusBadGateway}, true},
		"nobody behind the Service":  {&statusError{status: http.StatusServiceUnavailable}, true},
		"nobody answers the gateway": {&statusError{status: http.StatusGatewayTimeout}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var breaker circuitBreaker
			parent, now := parentOf("a", 1), time.Now()
			for range failuresToOpen {
				if err := breaker.allow(parent, false, now); err != nil {
					t.Fatal(err)
				}
				breaker.done(parent, fmt.Errorf("sync hook failed: %w", test.err), now)
			}
			if err := breaker.cause(); (err != nil) != test.want {
				t.Errorf("it is down: %v, want %v", err, test.want)
			}
			if err := breaker.allow(parent, false, now); err == nil {
				t.Error("it is called on and on")
			}
		})
	}
}
