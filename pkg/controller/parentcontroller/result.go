// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
)

// A sync may end without success and without a failure, because it has to wait for something: that
// others leave an object alone, that the hook takes calls again, or that a child is deleted. This is
// normal for a short time, and changes nothing in the health of the controller. If it lasts longer,
// the parent is failing.

const (
	// stallThreshold is the time for which the syncs of a parent may wait before that counts as a failure.
	stallThreshold = time.Minute
	// missingRightPeriod is the longest time between two syncs of a parent that fails because a right is
	// missing. No event says that the right was granted.
	missingRightPeriod = 45 * time.Second
)

// syncFacts are the facts that a sync of a parent found. resultOf derives the result from them.
type syncFacts struct {
	// gone is true if there is no such parent, or it is not selected.
	gone bool
	// err is the error that ended the sync early, or the error of the writes that failed.
	err error
	// resyncAfter is the time until the next sync that the hook asked for, or until a postponed
	// write is due; zero if there is neither.
	resyncAfter time.Duration
	// nameConflict says why the parent is not yet as the hook wants it although nothing failed: other objects have
	// the names of children.
	nameConflict error
	// overtaken says why the first write that a conflict prevented has to wait: others changed the object, or the
	// garbage collector has not yet deleted an object of the same name. It is nil if no write has to wait.
	overtaken error
	// retry is true if a conflict prevented a write. The conflict may end without an event that leads to another sync.
	retry bool
	// unfinalized is the snapshot of a parent whose finalize hook has not finished; else nil.
	unfinalized *pipeline.Snapshot
	// leaving is the child that has been terminating for the longest time; nil if none is.
	leaving *object.Object
	// rollout describes the progress of the rollout of the children; empty without a rollout.
	rollout string
	// outcomes are the outcomes of the steps of the plan.
	outcomes []pipeline.Outcome
}

// progress returns a note about the work that is still in progress after a sync that did all that it could; nil if
// there is none.
func (f *syncFacts) progress(children rows.ChildCounts) *rows.Note {
	switch {
	case f.err != nil || f.nameConflict != nil:
		return nil
	case f.rollout != "":
		return &rows.Note{State: v1alpha1.SyncStateProgressing, Text: f.rollout}
	case children.AsWanted+children.Outdated < children.Wanted:
		return &rows.Note{State: v1alpha1.SyncStateProgressing, Text: "the server deletes children to create them again"}
	}
	return nil
}

// syncResult is the result of a sync of a parent. resultOf determines it once, and report acts on it.
type syncResult struct {
	kind resultKind
	// why says why the parent is failing; nil if it is not.
	why error
	// wait identifies the wait that has lasted too long, if there was one: one event says enough about it.
	wait string
	// next is the time of the next sync.
	next syncqueue.Result
	// note says what the parent waits for, or what is in progress; nil if neither.
	note *rows.Note
}

// resultKind distinguishes the results of syncs.
type resultKind int

const (
	// done: the parent is as its hook wants, or becomes so without another attempt.
	done resultKind = iota
	// gone: the parent no longer exists.
	gone

	// waitingForOthers: the sync could not do its work yet. The health of the parent stays as it was.
	waitingForOthers
	// waitingForFinalizeHook and waitingForChild: the sync did its work, and the parent counts as synced.
	waitingForFinalizeHook
	waitingForChild

	// failedToSync: the sync ended with an error.
	failedToSync
	// failedHookDown: the hook is not called, because it has not answered several calls in a row.
	failedHookDown
	// failedNameConflict: other objects have the names of children.
	failedNameConflict
	// failedWriteLoop: the parent, or a child, is written again and again.
	failedWriteLoop
	// failedStalled and failedUnfinalized: the parent has waited for too long.
	failedStalled
	failedUnfinalized
)

// resultOf returns the result of a sync of a parent. Of several facts, the first one in this order counts: the
// parent is gone; the sync came too early; it failed; names of children are taken; write loops continue; a conflict
// prevented a write; the finalize hook has not finished; a child is terminating. resultOf notes in the state since
// when the parent waits for others.
func (c *Controller) resultOf(
	ctx context.Context, key object.Key, state *parentState, facts *syncFacts, now time.Time,
) syncResult {
	if facts.gone {
		return syncResult{kind: gone, next: syncqueue.Forget()}
	}
	if next, postponed := postponement(ctx, facts.err); postponed {
		return waitForOthers(state, facts.err, next, now)
	}
	resyncAfter, loopsLeft := facts.resyncAfter, state.slowedDown(now)
	if loopsLeft > 0 {
		resyncAfter = sooner(resyncAfter, c.guard.RecheckAfter(loopsLeft))
	}
	next := syncqueue.Done(resyncAfter)
	if facts.retry {
		next = syncqueue.Backoff(resyncAfter)
	}
	switch {
	case facts.err != nil:
		return failure(facts.err, resyncAfter)
	case facts.nameConflict != nil:
		return syncResult{kind: failedNameConflict, why: facts.nameConflict, next: next}
	case loopsLeft > 0:
		return syncResult{kind: failedWriteLoop, why: c.reporter.WriteLoopError(key), next: next,
			note: facts.progress(state.children)}
	case facts.overtaken != nil:
		return waitForOthers(state, facts.overtaken, syncqueue.Backoff(resyncAfter), now)
	}
	state.unfinishedSince = 0
	switch progress := facts.progress(state.children); {
	case facts.unfinalized != nil:
		return c.waitForFinalizeHook(state.finalization, facts.unfinalized, next, progress, now)
	case facts.leaving != nil:
		return waitForChild(facts.leaving, next, progress, now)
	default:
		return syncResult{kind: done, next: next, note: progress}
	}
}

// postponement returns the time of the next attempt after a sync that ended before it could succeed or fail: the hook
// answered 429, related objects are not listed yet, an object has changed, there is no room for a request or an answer,
// or the parent's finalizer is written too often. For every other error, and for nil, it returns false.
func postponement(ctx context.Context, err error) (next syncqueue.Result, postponed bool) {
	if throttled, ok := errors.AsType[*hook.ThrottledError](err); ok {
		klog.FromContext(ctx).V(2).Info("Hook asks to be called later", "after", throttled.After)
		if throttled.After == 0 {
			return syncqueue.Backoff(0).Within(hook.RetryAfter(err)), true
		}
		return syncqueue.RequeueAfter(throttled.After), true
	}
	if waiting, ok := errors.AsType[*related.NotListedError](err); ok {
		return syncqueue.RequeueAfter(waiting.After), true
	}
	if _, ok := errors.AsType[*hook.NoRoomError](err); ok {
		return syncqueue.Backoff(0).Within(hook.RetryAfter(err)), true
	}
	if early, ok := errors.AsType[*finalizerPostponedError](err); ok {
		return syncqueue.RequeueAfter(early.after), true
	}
	if _, ok := errors.AsType[*overtakenError](err); ok {
		return syncqueue.Backoff(0), true
	}
	return syncqueue.Result{}, false
}

// waitForOthers returns the result of a sync that ended without success and without a failure, because of why. The
// parent is failing when that has lasted for stallThreshold. If the hook wants a longer pause, it is failing at once.
func waitForOthers(state *parentState, why error, next syncqueue.Result, now time.Time) syncResult {
	if state.unfinishedSince == 0 {
		state.unfinishedSince = now.UnixNano()
	}
	since := time.Unix(0, state.unfinishedSince)
	left := since.Add(stallThreshold).Sub(now)
	waiting := syncResult{kind: waitingForOthers, next: next,
		note: &rows.Note{State: v1alpha1.SyncStateWaiting, Text: why.Error()}}
	throttled, _ := errors.AsType[*hook.ThrottledError](why)
	switch {
	case left <= 0:
	case throttled == nil || throttled.After == 0:
		waiting.next = next.Within(left)
		return waiting
	case throttled.After < stallThreshold: // the hook must not be called before
		return waiting
	}
	why = fmt.Errorf("no sync has succeeded since %s; the sync waits: %w", since.UTC().Format(time.RFC3339), why)
	return syncResult{kind: failedStalled, why: why, wait: since.String(), next: next, note: waiting.note}
}

// waitForFinalizeHook returns the result of a sync after which the finalize hook has not finished. The parent is
// failing if that continues for too long.
func (c *Controller) waitForFinalizeHook(
	of *finalization, snapshot *pipeline.Snapshot, next syncqueue.Result, progress *rows.Note, now time.Time,
) syncResult {
	due := of.due(snapshot)
	if left := due.Sub(now); left > 0 {
		note := &rows.Note{State: v1alpha1.SyncStateWaiting, Text: "the finalize hook has not finished"}
		return syncResult{kind: waitingForFinalizeHook, next: next.Within(left), note: note}
	}
	definitionWaits := c.isTypeBeingDeleted(snapshot.ParentType.GroupResource())
	return syncResult{
		kind: failedUnfinalized, why: &status.UnfinalizedError{Text: of.describe(snapshot, definitionWaits)},
		wait: fmt.Sprint(due, definitionWaits), next: next, note: progress,
	}
}

// waitForChild returns the result of a sync that did all that it could. The parent is not as the hook wants it until a
// child is gone.
func waitForChild(child *object.Object, next syncqueue.Result, progress *rows.Note, now time.Time) syncResult {
	// A child that may end gracefully is expected to be gone at its time of deletion.
	due := child.DeletionTimestamp.Time
	if left := due.Add(stallThreshold).Sub(now); left > 0 {
		note := &rows.Note{State: v1alpha1.SyncStateWaiting, Text: fmt.Sprintf("the child %s is being deleted", child)}
		return syncResult{kind: waitingForChild, next: next.Within(left), note: note}
	}
	why := "it has no finalizers, so the cluster or its garbage collector still has to delete it"
	if len(child.Finalizers) > 0 {
		why = fmt.Sprintf("its finalizers are %q, and their owners have to remove them", child.Finalizers)
	}
	return syncResult{
		kind: failedStalled, next: next, note: progress, wait: due.String(),
		why: fmt.Errorf(
			"the deletion of the child %s should have ended at %s: %s", child, due.UTC().Format(time.RFC3339), why),
	}
}

// failure returns the result of a sync that ended with an error.
func failure(err error, resyncAfter time.Duration) syncResult {
	if open, ok := errors.AsType[*hook.CircuitOpenError](err); ok {
		return syncResult{kind: failedHookDown, why: err, next: syncqueue.RequeueAfter(open.After)}
	}
	retry := syncqueue.Backoff(resyncAfter)
	if _, ok := errors.AsType[*act.MissingRightError](err); ok {
		retry = retry.Within(missingRightPeriod)
	}
	if after := hook.RetryAfter(err); after > 0 {
		retry = retry.Within(after)
	}
	return syncResult{kind: failedToSync, why: err, next: retry}
}

// report notes the result of a sync in the health of the controller, and writes an event if the parent is failing.
func (c *Controller) report(ctx context.Context, key object.Key, state *parentState, result *syncResult) {
	switch result.kind {
	case gone, waitingForOthers:
		return
	case failedStalled, failedUnfinalized, failedToSync, failedHookDown: // these events are not to be repeated soon
	default:
		state.reported.ResetSyncErrors()
	}
	c.reporter.SyncEnded(key, result.why, c.planner.Observer.Get)
	if result.why == nil {
		return
	}
	if result.kind == failedToSync {
		klog.FromContext(ctx).Error(result.why, fmt.Sprintf("failed to sync %s '%s'", key.Kind, key.NamespacedName))
	}
	parent := c.planner.Observer.Get(key)
	if parent == nil {
		return
	}
	switch result.kind {
	case failedToSync:
		c.reporter.SyncError(&state.reported, parent, result.why)
	case failedStalled:
		if c.reporter.Stalled(&state.reported, parent, result.wait, result.why) {
			klog.FromContext(ctx).Error(result.why, "Sync stalled")
		}
	case failedUnfinalized:
		if c.reporter.Unfinalized(&state.reported, parent, result.wait, result.why) {
			klog.FromContext(ctx).Error(result.why, "Finalization makes no progress")
		}
	}
}

// overtakenError is the error of a sync that did not write an object, because others had changed it
// since it was observed. The next sync observes it again.
type overtakenError struct{ what string }

func (e *overtakenError) Error() string { return e.what + " has changed since it was observed" }

// overtaken returns the *overtakenError of an outcome with a conflict.
func overtaken(outcome *pipeline.Outcome) error {
	if outcome.Op.OnParent() {
		return &overtakenError{fmt.Sprintf("the server did not write the %s of the parent, because the parent", outcome.Op)}
	}
	return &overtakenError{outcome.Key().String()}
}
