// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
)

const (
	// readBackInterval is the time after which a parent is synced again if the caches do not show
	// its last writes yet. Usually the event of the write comes first.
	readBackInterval = 100 * time.Millisecond
	// readBackTimeout is the time after which it is an error that the caches do not show a write.
	readBackTimeout = 10 * time.Second

	// refusedInterval is the time after which a parent is tried again whose controller may not read what it
	// needs. Such a controller is stopped, but that can take a while.
	refusedInterval = 15 * time.Second
)

// sync is one pass over one parent: observe, call the hook, plan, act and report. It returns when
// the parent is synced next.
func (c *Controller) sync(ctx context.Context, parent object.Key, cause syncqueue.Cause) syncqueue.Result {
	logger := klog.FromContext(ctx)
	ctx = klog.NewContext(ctx, logger.WithValues("parent", klog.KRef(parent.Namespace, parent.Name), "kind", parent.Kind))
	state, started := c.parents.get(parent), time.Now()
	state.mu.Lock()
	defer state.mu.Unlock()
	state.note = nil
	if wait, err := c.checkOwnWrites(state, started); err != nil {
		result := syncResult{err: err}
		next := c.report(ctx, parent, state, result)
		c.record(parent, state, &result, started)
		return next
	} else if wait {
		return syncqueue.RequeueAfter(readBackInterval)
	}
	if err := c.Reads.Check(ctx); err != nil {
		return syncqueue.RequeueAfter(refusedInterval) // the controller is about to be stopped
	}
	if c.isPaused(parent) {
		c.pause(parent, state)
		return syncqueue.Done(0)
	}
	result := c.syncParent(ctx, parent, state, cause)
	if c.DeveloperMode {
		logSync(logger, parent, result.outcomes)
	}
	result.err, result.incomplete = c.truncate(result.err), c.truncate(result.incomplete)
	tracing.FromContext(ctx).Fail(cmp.Or(result.err, result.incomplete))
	switch {
	case ctx.Err() != nil:
		return syncqueue.Done(0)
	case result.gone && !state.pending.DropSeen():
		return syncqueue.RequeueAfter(readBackInterval) // the cache does not show yet that its finalizer was removed
	case result.gone:
		c.forget(parent, state)
		return syncqueue.Forget()
	}
	next := c.report(ctx, parent, state, result)
	c.record(parent, state, &result, started)
	return next
}

// checkOwnWrites returns true if the caches do not show yet what the last sync wrote, and an error
// if they have not for readBackTimeout. It notes in state since when.
func (c *Controller) checkOwnWrites(state *parentState, now time.Time) (wait bool, err error) {
	if state.pending.DropSeen() && c.revisionsSeen(state) {
		state.unseenSince = time.Time{}
		return false, nil
	}
	if state.unseenSince.IsZero() {
		state.unseenSince = now
	}
	if now.Sub(state.unseenSince) < readBackTimeout {
		return true, nil
	}
	if err := state.pending.Unseen(); err != nil {
		return true, err
	}
	return true, errors.New("the watch of ControllerRevisions does not show what was written")
}

// revisionsSeen reports whether the cache shows what was written to the parent's
// ControllerRevisions.
func (c *Controller) revisionsSeen(state *parentState) bool {
	return state.rollout == nil || c.Revisions.DropSeen(&state.rollout.revisions)
}

// syncResult is the result of the sync of one parent.
type syncResult struct {
	// gone is true if there is no such parent, or it is not selected.
	gone bool
	// resyncAfter is the time until the next sync that the hook asked for, or until a postponed
	// write is due; zero if there is neither.
	resyncAfter time.Duration
	// incomplete is why the parent is not yet as the hook wants it although nothing failed.
	incomplete error
	// retry is true if a conflict prevented a write. It may end without an event that leads to
	// another sync.
	retry bool
	// overtaken is why the first write that was prevented has to wait: others had changed the object, or the garbage collector
	// has not yet deleted a former one of its name. It is nil if no write has to wait.
	overtaken error
	// unfinalized is the snapshot of a parent whose finalize hook has not finished; else nil.
	unfinalized *pipeline.Snapshot
	// leaving is the child that has been being deleted for the longest time; nil if none is.
	leaving *object.Object
	// rolling is true if the children of the parent roll out.
	rolling bool
	// rolloutMessage says how far the rollout is.
	rolloutMessage string
	// outcomes are those of the steps of the plan.
	outcomes []pipeline.Outcome
	err      error
}

// syncParent is the sync of a parent whose last writes the caches show. A panic becomes the error
// of the result.
func (c *Controller) syncParent(ctx context.Context, parent object.Key, state *parentState, cause syncqueue.Cause) (result syncResult) {
	defer recoverInto(ctx, &result.err)
	ctx, room, err := c.Hook.Budget.Enter(ctx, c.owner, state.bytes)
	if err != nil {
		return syncResult{err: err}
	}
	defer func() { state.bytes = room.Leave() }()
	started := time.Now()
	if c.spec.Lacks != nil && c.stays(parent) {
		return syncResult{err: c.spec.Lacks}
	}
	snapshot, webhook, err := c.observe(ctx, state, parent)
	switch {
	case err != nil:
		return syncResult{err: err}
	case snapshot == nil:
		return syncResult{gone: true}
	case webhook == nil:
		c.hookCalls.forget(parent)
		return syncResult{}
	}
	snapshot.Trigger = triggerOf(cause)
	if cause == syncqueue.Asked {
		c.guard.Forgive(parent)
		state.setLoopsEnd(time.Time{})
	}
	responses, err := c.callHooks(ctx, state, snapshot, webhook)
	if err != nil {
		c.reportCustomizeWarnings(state, snapshot.Parent, state.customizeAnswer.Warnings())
		return syncResult{err: err}
	}
	result = c.planAndAct(ctx, started, state, snapshot, responses)
	result.leaving = longestLeaving(snapshot)
	return result
}

// stays reports whether a parent is there and is not being deleted.
func (c *Controller) stays(parent object.Key) bool {
	of := c.observer.Get(parent)
	return of != nil && of.DeletionTimestamp == nil && c.observer.Handles(of)
}

// recoverInto makes a panic an error.
func recoverInto(ctx context.Context, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("panic: %v", panicked)
		klog.FromContext(ctx).Error(*err, "Sync panicked", "stack", string(debug.Stack()))
	}
}

// observe returns the parent with its children, and the hook to call about it. The snapshot is nil
// if there is no parent; the webhook is nil if the spec has no hook for it.
func (c *Controller) observe(ctx context.Context, state *parentState, parent object.Key) (*pipeline.Snapshot, *hook.Webhook, error) {
	snapshot, err := c.observeParent(ctx, state, parent)
	if snapshot == nil || err != nil {
		return nil, nil, err
	}
	if uid := snapshot.Parent.UID; uid != state.uid {
		c.hooks.forget(state.uid) // an earlier parent of the same name
		state.uid, state.unfinishedSince, state.loopsEnd, state.finalization = uid, 0, 0, nil
		state.children = childCounts{}
		state.isLetGo, state.told, state.syncErrorEvents, state.hookEvents = false, toldWarnings{}, eventDeduplicator{}, nil
	}
	state.generation = snapshot.Parent.Generation
	webhook, err := c.observeChildren(snapshot)
	if webhook != nil {
		c.reportFinalizing(state, snapshot)
	}
	return snapshot, webhook, err
}

// planAndAct makes one plan of the responses of the hooks and takes its steps.
func (c *Controller) planAndAct(ctx context.Context, started time.Time, state *parentState, snapshot *pipeline.Snapshot, responses *hookResponses) syncResult {
	decision, err := c.decide(state, snapshot, responses, time.Now())
	if err != nil {
		return syncResult{err: err}
	}
	if of := responses.responses[0]; !of.IsNoOp {
		c.reportHookEvents(state, snapshot, of.Events)
	}
	if err := c.storeRevisions(ctx, state, snapshot, decision.Writes); err != nil {
		return syncResult{err: err}
	}
	result := syncResult{resyncAfter: decision.Response.ResyncAfter}
	if state.finalization = state.finalization.next(snapshot, decision.Response, time.Now()); state.finalization != nil {
		result.unfinalized = snapshot
	}
	var waiting []pipeline.Warning
	if responses.rollout != nil {
		var next time.Duration
		next, waiting = c.reportRollout(state, snapshot.Parent, decision, time.Now())
		result.rolling = len(responses.responses) > 1 || decision.Updated.Status != metav1.ConditionTrue
		result.rolloutMessage = decision.Updated.Message
		result.resyncAfter = sooner(result.resyncAfter, next)
	}
	if decision.Response.IsNoOp {
		return result
	}
	planned, err := c.plan(ctx, state, snapshot, decision.Response)
	if err != nil {
		result.err = err
		return result
	}
	findings := slices.Concat(state.told.recallDeletion(findingsOf(decision.Response, planned)), waiting, planned.Notices)
	c.reportFindings(state, snapshot.Parent, findings, planned.Outdated)
	state.upToDate.Prune(snapshot)
	state.noOp = knownNoOp{}
	outcomes, kept, after := c.act(ctx, started, state, snapshot, planned)
	result.outcomes = outcomes
	c.reportAdoptions(snapshot.Parent, outcomes)
	if state.children = (childCounts{}); snapshot.Managed {
		state.children = countChildren(planned, outcomes, kept, len(decision.Behind))
	}
	c.reportWriteWarnings(state, snapshot.Parent, findings, plan.WriteWarnings(snapshot, planned, outcomes), planned.Outdated)
	result.resyncAfter = sooner(result.resyncAfter, after)
	c.observer.Wrote(&state.pending, outcomes)
	state.upToDate.Wrote(outcomes)
	switch {
	case responses.rollout == nil:
		state.noOp.remember(responses.planInputs, decision.Response, planned, outcomes, after)
	case state.rollout.events.waitsFor != "" && slices.ContainsFunc(outcomes, confirmsChild),
		len(decision.Moved) > 0 && slices.ContainsFunc(outcomes, leavesChild):
		result.resyncAfter = sooner(result.resyncAfter, readBackInterval)
	}

	errs := planned.Refused
	for _, outcome := range outcomes {
		if outcome.Err != nil {
			errs = append(errs, outcome.Err)
		}
		switch {
		case result.overtaken != nil:
		case outcome.Conflict:
			result.overtaken = overtaken(&outcome)
		case isLeft(&outcome, snapshot.Parent):
			result.overtaken = leftError(&outcome, snapshot.Parent)
		}
		result.retry = result.retry || outcome.NameConflict || outcome.Conflict
	}
	result.err = joinErrors(errs)
	result.incomplete = nameConflictError(outcomes, snapshot)
	c.reportNameConflicts(state, snapshot.Parent, result.incomplete)
	c.nameConflicts.set(object.KeyOf(snapshot.Parent), missedNames(outcomes))
	return result
}

// act takes the steps of a plan, except those that the guard against write loops postpones. It
// returns the time until the first of these is due, zero if none was postponed, and how many children the plan leaves as
// they are. Started is the time at which the sync began.
func (c *Controller) act(ctx context.Context, started time.Time, state *parentState, snapshot *pipeline.Snapshot, planned *pipeline.Plan) (outcomes []pipeline.Outcome, kept int, after time.Duration) {
	kept = countKept(planned)
	next, loops := c.guard.Postpone(snapshot, planned, started)
	c.reportWriteLoops(snapshot.Parent, loops, started)
	outcomes = c.Actor.Act(ctx, snapshot, planned)
	c.dropTypeWarnings(outcomes)
	now := time.Now()
	c.guard.Wrote(snapshot, outcomes, now)
	if state.loopsEnd != 0 || len(loops) > 0 || !next.IsZero() {
		state.setLoopsEnd(c.guard.LoopsEnd(object.KeyOf(snapshot.Parent)))
	}
	if next.IsZero() {
		return outcomes, kept, 0
	}
	return outcomes, kept, max(next.Sub(now), 1)
}

// sooner returns the shorter of two durations. Zero does not count.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// report notes the result of a sync in the health of the controller, writes an event if it failed,
// and returns when the parent is synced next.
func (c *Controller) report(ctx context.Context, key object.Key, state *parentState, result syncResult) syncqueue.Result {
	if next, postponed := postponement(ctx, result.err); postponed {
		return c.reportUnfinished(ctx, key, state, result.err, next)
	}
	over := state.slowedDown(time.Now())
	if over > 0 {
		result.resyncAfter = sooner(result.resyncAfter, c.guard.RecheckAfter(over))
	}
	failure := cmp.Or(result.err, result.incomplete)
	if failure == nil && over > 0 {
		failure = c.slowedDownError(key)
	}
	if failure == nil && result.overtaken != nil {
		return c.reportUnfinished(ctx, key, state, result.overtaken, syncqueue.Backoff(result.resyncAfter))
	}
	if failure == nil {
		state.unfinishedSince = 0
		switch {
		case result.unfinalized != nil:
			return c.reportUnfinalized(ctx, key, state, result)
		case result.leaving != nil:
			return c.reportLeaving(ctx, key, state, result)
		}
	}
	c.updateHealth(key, failure)
	if open, ok := errors.AsType[*hook.CircuitOpenError](result.err); ok {
		return syncqueue.RequeueAfter(open.After)
	}
	if result.err != nil {
		klog.FromContext(ctx).Error(result.err, fmt.Sprintf("failed to sync %s '%s'", key.Kind, key.NamespacedName))
		if parent := c.observer.Get(key); parent != nil && c.isDue(&state.syncErrorEvents, result.err.Error()) {
			c.Events.SyncError(parent, result.err)
		}
		retry := syncqueue.Backoff(result.resyncAfter)
		if _, ok := errors.AsType[*act.MissingRightError](result.err); ok {
			retry = retry.Within(missingRightPeriod)
		}
		if after := hook.RetryAfter(result.err); after > 0 {
			retry = retry.Within(after)
		}
		return retry
	}
	state.syncErrorEvents = eventDeduplicator{}
	if result.retry {
		return syncqueue.Backoff(result.resyncAfter)
	}
	return syncqueue.Done(result.resyncAfter)
}

// missingRightPeriod is the longest time between two syncs of a parent that fails for want of a right.
// No event tells that the right has been given.
const missingRightPeriod = 45 * time.Second

// postponement returns when a sync is tried again that ended before it could succeed or fail: the
// hook asked to be called later, related objects are not listed yet, an object has changed,
// there is no room for a request or an answer, or the parent's finalizer is written too often. For every
// other error, and for nil, it returns false.
func postponement(ctx context.Context, err error) (next syncqueue.Result, postponed bool) {
	if throttled, ok := errors.AsType[*hook.ThrottledError](err); ok {
		klog.FromContext(ctx).V(2).Info("Hook asks to be called later", "after", throttled.After)
		if throttled.After == 0 {
			return syncqueue.Backoff(0), true
		}
		return syncqueue.RequeueAfter(throttled.After), true
	}
	if waiting, ok := errors.AsType[*related.NotListedError](err); ok {
		return syncqueue.RequeueAfter(waiting.After), true
	}
	if _, ok := errors.AsType[*hook.NoRoomError](err); ok {
		return syncqueue.Backoff(0), true
	}
	if early, ok := errors.AsType[*finalizerPostponedError](err); ok {
		return syncqueue.RequeueAfter(early.after), true
	}
	if _, ok := errors.AsType[*overtakenError](err); ok {
		return syncqueue.Backoff(0), true
	}
	return syncqueue.Result{}, false
}
