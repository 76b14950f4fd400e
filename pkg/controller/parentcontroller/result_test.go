// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
)

// reporter is a controller that concludes syncs of the parent a.
type reporter struct {
	*Controller
	*testing.T
	state *parentState
}

func newReporter(t *testing.T) *reporter {
	return &reporter{unlinked(), t, &parentState{}}
}

// unlinked is a controller without a host.
func unlinked() *Controller {
	c := &Controller{spec: &Spec{}, planner: &planner.Planner{}, guard: writeloop.New()}
	c.reporter = &status.Reporter{Tracker: status.NewTracker(), Guard: c.guard}
	c.rows = &rows.Rows{Health: c.reporter.Of}
	return c
}

func (r *reporter) reports(facts syncFacts) syncqueue.Result {
	return r.conclude(r.Context(), web("a"), r.state, &facts, time.Now())
}

// expect checks the numbers of synced and of failing parents.
func (r *reporter) expect(synced, failing int) {
	r.Helper()
	if health := r.Health(); health.Synced != synced || health.Failing != failing {
		r.Errorf("synced: %d, failing: %d, want %d and %d", health.Synced, health.Failing, synced, failing)
	}
}

// waits are the ends of a sync that has neither succeeded nor failed.
var waits = map[string]syncFacts{
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
			r.reports(syncFacts{})
			r.expect(0, 1)
			time.Sleep(time.Second)
		}
		r.reports(syncFacts{})
		r.expect(1, 0)
	})
}

// The hook may have been corrected meanwhile, and nothing else tells.
func TestAParentInAWriteLoopIsSyncedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter(t)
		r.state.setLoopsEnd(time.Now().Add(time.Minute))
		if next := r.reports(syncFacts{}); next != syncqueue.Done(3*time.Second) {
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
				want := "no sync has succeeded since " + since + "; the sync waits: " + why.Error()
				if last := r.Health().LastError; last == nil || last.Message != want {
					t.Errorf("the last error is %+v, want %s", last, want)
				}

				r.reports(syncFacts{})
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
		r, unfinished := newReporter(t), syncFacts{err: &overtakenError{}}
		r.reports(unfinished)
		time.Sleep(stallThreshold / 2)
		r.reporter.Update(web("a"), errors.New("no"))
		time.Sleep(stallThreshold / 2)
		r.reports(unfinished)
		r.expect(0, 1)
		if message := r.Health().LastError.Message; !strings.Contains(message, "no sync has succeeded since") {
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
	leaving := func(finalizers []string) syncFacts {
		deleted := metav1.NewTime(time.Now().Add(30 * time.Second)) // its grace period
		return syncFacts{leaving: &object.Object{
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
				want := "the deletion of the child Pod default/p should have ended at " + due + ": " + want
				if message := r.Health().LastError.Message; message != want {
					t.Errorf("the last error is %q, want %q", message, want)
				}
				r.reports(syncFacts{})
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

func TestWhatAConflictWaitsFor(t *testing.T) {
	for want, step := range map[string]pipeline.Step{
		"the server did not write the status of the parent, because the parent has changed since it was observed": {Op: pipeline.Status},
		"ConfigMap default/c has changed since it was observed": {
			Op: pipeline.Update, Type: object.Type{Kind: "ConfigMap"}, Namespace: "default", Name: "c",
		},
	} {
		if got := overtaken(&pipeline.Outcome{Step: step, Conflict: true}).Error(); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// Each combination of facts has one result.
func TestWhatASyncCameTo(t *testing.T) {
	now := time.Now()
	var (
		failed     = errors.New("no")
		down       = fmt.Errorf("sync hook: %w", &hook.CircuitOpenError{After: time.Minute})
		throttled  = fmt.Errorf("sync hook: %w", &hook.ThrottledError{After: time.Second})
		anyTime    = fmt.Errorf("sync hook: %w", &hook.ThrottledError{})
		overtaken  = &overtakenError{"ConfigMap default/c"}
		taken      = errors.New("ConfigMap default/c exists")
		longAgo    = metav1.NewTime(now.Add(-time.Hour))
		soon       = metav1.NewTime(now.Add(time.Second))
		leaving    = &object.Object{ObjectMeta: metav1.ObjectMeta{Name: "c", DeletionTimestamp: &soon}}
		stuck      = &object.Object{ObjectMeta: metav1.ObjectMeta{Name: "c", DeletionTimestamp: &longAgo}}
		justBegun  = &finalization{since: now, progress: now}
		begunLong  = &finalization{since: longAgo.Time, progress: longAgo.Time}
		inLoop     = func() *parentState { return &parentState{loopsEnd: now.Add(time.Minute).UnixNano()} }
		waitsLong  = func() *parentState { return &parentState{unfinishedSince: longAgo.UnixNano()} }
		waiting    = string(v1alpha1.SyncStateWaiting)
		progresses = string(v1alpha1.SyncStateProgressing)
	)
	tests := map[string]struct {
		facts syncFacts
		state *parentState // nil is an empty one
		kind  resultKind
		why   error // what the failure wraps or is
		next  syncqueue.Result
		note  string // its state
		// waitsOn is true if it stays noted since when the parent waits for others.
		waitsOn bool
	}{
		"there is no parent": {facts: syncFacts{gone: true}, kind: gone, next: syncqueue.Forget()},
		"all is as the hook wants": {
			facts: syncFacts{resyncAfter: time.Hour}, kind: done, next: syncqueue.Done(time.Hour),
		},
		"all is as the hook wants, after a wait": {state: waitsLong(), kind: done, next: syncqueue.Done(0)},
		"a rollout goes on":                      {facts: syncFacts{rollout: "1 of 2"}, kind: done, next: syncqueue.Done(0), note: progresses},
		"children are recreated":                 {state: &parentState{children: rows.ChildCounts{Wanted: 2, AsWanted: 1, Known: true}}, kind: done, next: syncqueue.Done(0), note: progresses},
		"children are outdated":                  {state: &parentState{children: rows.ChildCounts{Wanted: 2, AsWanted: 1, Outdated: 1, Known: true}}, kind: done, next: syncqueue.Done(0)},

		"an error": {facts: syncFacts{err: failed, resyncAfter: time.Hour}, kind: failedToSync, why: failed, next: syncqueue.Backoff(time.Hour)},
		"an error that comes with everything else": {
			facts: syncFacts{err: failed, nameConflict: taken, overtaken: overtaken, retry: true, unfinalized: finalizing(), leaving: leaving, rollout: "1 of 2"},
			state: &parentState{loopsEnd: now.Add(time.Minute).UnixNano(), finalization: justBegun, unfinishedSince: longAgo.UnixNano()},
			kind:  failedToSync, why: failed, next: syncqueue.Backoff(writeloop.New().RecheckAfter(time.Minute)), waitsOn: true,
		},
		"the hook is down":                {facts: syncFacts{err: down, resyncAfter: time.Hour}, kind: failedHookDown, why: down, next: syncqueue.RequeueAfter(time.Minute)},
		"names are taken":                 {facts: syncFacts{nameConflict: taken, retry: true, rollout: "1 of 2"}, kind: failedNameConflict, why: taken, next: syncqueue.Backoff(0)},
		"names are taken, others change":  {facts: syncFacts{nameConflict: taken, overtaken: overtaken, retry: true}, kind: failedNameConflict, why: taken, next: syncqueue.Backoff(0)},
		"names are taken in a write loop": {facts: syncFacts{nameConflict: taken, retry: true}, state: inLoop(), kind: failedNameConflict, why: taken, next: syncqueue.Backoff(writeloop.New().RecheckAfter(time.Minute))},

		"a write loop":                  {state: inLoop(), kind: failedWriteLoop, why: status.ErrCalmingDown, next: syncqueue.Done(writeloop.New().RecheckAfter(time.Minute))},
		"a write loop during a rollout": {facts: syncFacts{rollout: "1 of 2"}, state: inLoop(), kind: failedWriteLoop, why: status.ErrCalmingDown, next: syncqueue.Done(writeloop.New().RecheckAfter(time.Minute)), note: progresses},
		"a write loop and a conflict":   {facts: syncFacts{overtaken: overtaken, retry: true}, state: inLoop(), kind: failedWriteLoop, why: status.ErrCalmingDown, next: syncqueue.Backoff(writeloop.New().RecheckAfter(time.Minute))},

		"the hook asks to be called later":                  {facts: syncFacts{err: throttled}, kind: waitingForOthers, next: syncqueue.RequeueAfter(time.Second), note: waiting, waitsOn: true},
		"the hook asks to be called later, in a write loop": {facts: syncFacts{err: throttled}, state: inLoop(), kind: waitingForOthers, next: syncqueue.RequeueAfter(time.Second), note: waiting, waitsOn: true},
		"the hook has asked for long to be called later":    {facts: syncFacts{err: throttled}, state: waitsLong(), kind: failedStalled, why: throttled, next: syncqueue.RequeueAfter(time.Second), note: waiting, waitsOn: true},
		"the hook asks to be called later, without a time": {
			facts: syncFacts{err: anyTime}, kind: waitingForOthers,
			next: syncqueue.Backoff(0).Within(7 * time.Second), note: waiting, waitsOn: true,
		},
		"the hook has asked for long to be called later, without a time": {
			facts: syncFacts{err: anyTime}, state: waitsLong(), kind: failedStalled, why: anyTime,
			next: syncqueue.Backoff(0).Within(7 * time.Second), note: waiting, waitsOn: true,
		},
		"there is no room for a call": {
			facts: syncFacts{err: &hook.NoRoomError{}}, kind: waitingForOthers,
			next: syncqueue.Backoff(0).Within(7 * time.Second), note: waiting, waitsOn: true,
		},
		"a conflict": {facts: syncFacts{overtaken: overtaken, retry: true}, kind: waitingForOthers, next: syncqueue.Backoff(0).Within(stallThreshold), note: waiting, waitsOn: true},
		"a conflict while a child is terminating": {facts: syncFacts{overtaken: overtaken, retry: true, leaving: leaving}, kind: waitingForOthers, next: syncqueue.Backoff(0).Within(stallThreshold), note: waiting, waitsOn: true},
		"conflicts for long":                      {facts: syncFacts{overtaken: overtaken, retry: true}, state: waitsLong(), kind: failedStalled, why: overtaken, next: syncqueue.Backoff(0), note: waiting, waitsOn: true},

		"the finalize hook has not finished": {
			facts: syncFacts{unfinalized: finalizing()}, state: &parentState{finalization: justBegun, unfinishedSince: longAgo.UnixNano()},
			kind: waitingForFinalizeHook, next: syncqueue.Done(0).Within(finalizeThreshold), note: waiting,
		},
		"the finalize hook waits for a child": {
			facts: syncFacts{unfinalized: finalizing(), leaving: leaving}, state: &parentState{finalization: justBegun},
			kind: waitingForFinalizeHook, next: syncqueue.Done(0).Within(finalizeThreshold), note: waiting,
		},
		"the finalize hook does not finish": {
			facts: syncFacts{unfinalized: finalizing()}, state: &parentState{finalization: begunLong}, kind: failedUnfinalized, next: syncqueue.Done(0),
		},
		"a child is terminating":                  {facts: syncFacts{leaving: leaving}, kind: waitingForChild, next: syncqueue.Done(0).Within(time.Second + stallThreshold), note: waiting},
		"a child is terminating during a rollout": {facts: syncFacts{leaving: leaving, rollout: "1 of 2"}, kind: waitingForChild, next: syncqueue.Done(0).Within(time.Second + stallThreshold), note: waiting},
		"a child does not go":                     {facts: syncFacts{leaving: stuck}, kind: failedStalled, next: syncqueue.Done(0)},
		"a child does not go during a rollout":    {facts: syncFacts{leaving: stuck, rollout: "1 of 2"}, kind: failedStalled, next: syncqueue.Done(0), note: progresses},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newReporter(t)
			if test.state != nil {
				r.state = test.state
			}
			got := r.resultOf(t.Context(), web("a"), r.state, &test.facts, now)
			if got.kind != test.kind || got.next != test.next {
				t.Errorf("its kind is %d and it is synced next %+v, want %d and %+v", got.kind, got.next, test.kind, test.next)
			}
			if isFailing := got.kind >= failedToSync; isFailing != (got.why != nil) || test.why != nil && !errors.Is(got.why, test.why) {
				t.Errorf("it fails because of %v, want %v", got.why, test.why)
			}
			var note string
			if got.note != nil {
				note = string(got.note.State)
			}
			if note != test.note {
				t.Errorf("it is noted as %q, want %q", note, test.note)
			}
			if waitsOn := r.state.unfinishedSince != 0; waitsOn != test.waitsOn {
				t.Errorf("it is noted since when it waits: %v, want %v", waitsOn, test.waitsOn)
			}
		})
	}
}
