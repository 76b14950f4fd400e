// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
)

// reporter is a controller that reports the results of syncs of the parent a.
type reporter struct {
	*Controller
	*testing.T
	state *parentState
}

func newReporter(t *testing.T) *reporter {
	return &reporter{&Controller{line: line{spec: &Spec{}}, health: newSyncHealth(), guard: writeloop.New()}, t, &parentState{}}
}

func (r *reporter) reports(result syncResult) syncqueue.Result {
	return r.report(r.Context(), web("a"), r.state, result)
}

// expect checks the numbers of synced and of failing parents.
func (r *reporter) expect(synced, failing int) {
	r.Helper()
	if health := r.Health(); health.Synced != synced || health.Failing != failing {
		r.Errorf("synced: %d, failing: %d, want %d and %d", health.Synced, health.Failing, synced, failing)
	}
}

// waits are the ends of a sync that has neither succeeded nor failed.
var waits = map[string]syncResult{
	"the hook asks to be called later":      {err: fmt.Errorf("sync hook: %w", &hook.ThrottledError{After: time.Second})},
	"the hook does not say how much later":  {err: &hook.ThrottledError{}},
	"related objects are not listed":        {err: &related.NotListedError{After: time.Second}},
	"a revision was overtaken":              {err: &overtakenError{"ControllerRevision x"}},
	"a write was overtaken":                 {retry: true, overtaken: &overtakenError{"ConfigMap default/c"}},
	"the finalizer is written too often":    {err: &finalizerPostponedError{after: time.Hour}},
	"the hook wants a pause over the limit": {err: &hook.ThrottledError{After: time.Hour}},
}

// Between two writes of a loop, a sync finds that all is as the hook wants.
func TestAParentIsFailingUntilItsWriteLoopsAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter(t)
		r.state.setLoopsEnd(time.Now().Add(time.Minute))
		for range 60 {
			r.reports(syncResult{})
			r.expect(0, 1)
			time.Sleep(time.Second)
		}
		r.reports(syncResult{})
		r.expect(1, 0)
	})
}

// The hook may have been corrected meanwhile, and nothing else tells.
func TestAParentInAWriteLoopIsSyncedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter(t)
		r.state.setLoopsEnd(time.Now().Add(time.Minute))
		if next := r.reports(syncResult{}); next != syncqueue.Done(3*time.Second) {
			t.Errorf("the next sync is %v", next)
		}
	})
}

func TestAParentThatWaitsForOverAMinuteIsFailing(t *testing.T) {
	for name, unfinished := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReporter(t)
				since := time.Now().UTC().Format(time.RFC3339)
				if name != "the hook wants a pause over the limit" { // noticed at once, since the hook is not called before
					r.reports(unfinished)
					r.expect(0, 0)
					time.Sleep(stallThreshold - time.Nanosecond)
					r.reports(unfinished)
					r.expect(0, 0)
					time.Sleep(time.Nanosecond)
				}
				r.reports(unfinished)
				r.expect(0, 1)
				why := unfinished.err
				if why == nil {
					why = unfinished.overtaken
				}
				want := "the sync has not succeeded since " + since + ", and waits: " + why.Error()
				if last := r.Health().LastError; last == nil || last.Message != want {
					t.Errorf("the last error is %+v, want %s", last, want)
				}

				r.reports(syncResult{})
				r.expect(1, 0)
				time.Sleep(time.Hour)
				if r.reports(unfinished); name != "the hook wants a pause over the limit" {
					r.expect(1, 0) // a success in between: the minute begins anew
				}
			})
		})
	}
}

// Failures are reported anyway. They do not end the wait.
func TestAFailureInBetweenDoesNotEndAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, unfinished := newReporter(t), syncResult{err: &overtakenError{}}
		r.reports(unfinished)
		time.Sleep(stallThreshold / 2)
		r.health.update(web("a"), errors.New("no"))
		time.Sleep(stallThreshold / 2)
		r.reports(unfinished)
		r.expect(0, 1)
		if message := r.Health().LastError.Message; !strings.Contains(message, "has not succeeded since") {
			t.Errorf("the last error is %s", message)
		}
	})
}

// Without an event of the host, the parent is synced again when the minute is over.
func TestTheEndOfTheMinuteIsNoticed(t *testing.T) {
	for name, unfinished := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReporter(t)
				queue := syncqueue.New(t.Name(), 1, nil, func(context.Context, object.Key, syncqueue.Cause) syncqueue.Result { return r.reports(unfinished) })
				ended := make(chan struct{})
				ctx, stop := context.WithCancel(t.Context())
				go func() {
					defer close(ended)
					queue.Run(ctx)
				}()
				queue.Enqueue(syncqueue.ParentChanged, web("a"))
				time.Sleep(stallThreshold + time.Second)
				synctest.Wait()
				stop()
				<-ended
				r.expect(0, 1)
			})
		})
	}
}

func TestAChildThatDoesNotGo(t *testing.T) {
	leaving := func(finalizers []string) syncResult {
		deleted := metav1.NewTime(time.Now().Add(30 * time.Second)) // its grace period
		return syncResult{leaving: &object.Object{
			TypeMeta:   metav1.TypeMeta{Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", DeletionTimestamp: &deleted, Finalizers: finalizers},
		}}
	}
	for want, finalizers := range map[string][]string{
		"it has no finalizers, so the cluster or its garbage collector still has to delete it": nil,
		`its finalizers are ["x/y" "z"], and their owners have to remove them`:                 {"x/y", "z"},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, result := newReporter(t), leaving(finalizers)
				due := result.leaving.DeletionTimestamp.UTC().Format(time.RFC3339)
				if next := r.reports(result); next != syncqueue.Done(0).Within(30*time.Second+stallThreshold) {
					t.Errorf("the result is %v", next)
				}
				r.expect(1, 0)
				time.Sleep(30*time.Second + stallThreshold)
				r.reports(result)
				r.expect(0, 1)
				want := "the child Pod default/p should have been gone since " + due + ": " + want
				if message := r.Health().LastError.Message; message != want {
					t.Errorf("the last error is %q, want %q", message, want)
				}
				r.reports(syncResult{})
				r.expect(1, 0)
			})
		})
	}
}

func TestTheChildThatLeavesForTheLongestTime(t *testing.T) {
	at := func(name string, seconds int64) *object.Object {
		o := &object.Object{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if seconds > 0 {
			deleted := metav1.Unix(seconds, 0)
			o.DeletionTimestamp = &deleted
		}
		return o
	}
	snapshot := &pipeline.Snapshot{Managed: true, Children: []pipeline.Group{
		{Claimed: []*object.Object{at("a", 0), at("b", 20)}}, {}, {Claimed: []*object.Object{at("c", 10), at("d", 30)}},
	}}
	if longest := longestLeaving(snapshot); longest == nil || longest.Name != "c" {
		t.Errorf("it is %v, want c", longest)
	}
	snapshot.Managed = false
	if longest := longestLeaving(snapshot); longest != nil {
		t.Errorf("it is %v, but the children are left to the host", longest)
	}
}
