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
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
)

// readBackInterval is how soon a parent is looked at again whose last writes the
// caches do not show yet. Usually the event of the write comes first.
const readBackInterval = 100 * time.Millisecond

// readBackTimeout is how long the caches may take to show a write before that is an error.
const readBackTimeout = 10 * time.Second

// sync is one pass over one parent.
func (c *Controller) sync(ctx context.Context, parent pipeline.Key) syncqueue.Result {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("parent", klog.KRef(parent.Namespace, parent.Name), "kind", parent.Kind))
	state := c.parents.get(parent)
	if waits, err := c.checkOwnWrites(state, time.Now()); err != nil {
		c.parents.record(parent, err)
		return c.report(ctx, parent, state, syncResult{err: err})
	} else if waits {
		return syncqueue.RequeueAfter(readBackInterval)
	}
	attempt := c.syncParent(ctx, parent, state)
	attempt.err, attempt.incomplete = truncate(attempt.err), truncate(attempt.incomplete)
	switch {
	case ctx.Err() != nil:
		return syncqueue.Done(0)
	case attempt.gone:
		c.hooks.forget(state.uid)
		c.forget(parent, state)
		return syncqueue.Forget()
	}
	c.parents.record(parent, cmp.Or(attempt.err, attempt.incomplete))
	return c.report(ctx, parent, state, attempt)
}

// checkOwnWrites tells whether the caches do not show yet what the last sync has written. The
// error says what they have not shown for long.
func (c *Controller) checkOwnWrites(state *parentState, now time.Time) (waits bool, err error) {
	if state.pending.Seen() && c.revisionsSeen(state) {
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
	return true, errors.New("what was written to ControllerRevisions does not come back by their watch")
}

// revisionsSeen tells whether the caches show what was written to the parent's revisions.
func (c *Controller) revisionsSeen(state *parentState) bool {
	return state.rollout == nil || c.Revisions.Seen(&state.rollout.revisions)
}

// syncResult is how a sync went.
type syncResult struct {
	// gone tells that there is no parent to sync.
	gone bool
	// resyncAfter is when the hook asks for another sync, or something is to be written that
	// it was too early for.
	resyncAfter time.Duration
	// incomplete is what keeps the parent from being as its hook wants although nothing failed.
	incomplete error
	// retry tells that something stood in the way which may pass without an event that
	// leads to another sync.
	retry bool
	err   error
}

// syncParent asks the hook about a parent and does what it answers. A panic becomes the
// error of the sync.
func (c *Controller) syncParent(ctx context.Context, parent pipeline.Key, state *parentState) (result syncResult) {
	defer recoverInto(ctx, &result.err)
	started := time.Now()
	snapshot, answers, err := c.ask(ctx, state, parent)
	if answers == nil || err != nil {
		return syncResult{gone: snapshot == nil && err == nil, err: err}
	}
	return c.planAndAct(ctx, started, state, snapshot, answers)
}

// recoverInto makes a panic an error.
func recoverInto(ctx context.Context, err *error) {
	if panicked := recover(); panicked != nil {
		*err = fmt.Errorf("panic: %v", panicked)
		klog.FromContext(ctx).Error(*err, "Sync panicked", "stack", string(debug.Stack()))
	}
}

// ask observes the parent and asks the hook about it. Without a parent there is no
// snapshot, and without a hook for it there are no answers.
func (c *Controller) ask(ctx context.Context, state *parentState, parent pipeline.Key) (*pipeline.Snapshot, *hookResponses, error) {
	snapshot, err := c.observeParent(ctx, state, parent)
	if snapshot == nil || err != nil {
		return nil, nil, err
	}
	if uid := snapshot.Parent.UID; uid != state.uid {
		c.hooks.forget(state.uid) // a parent that had the name before
		state.uid = uid
	}
	webhook := c.hooks.forSnapshot(snapshot)
	if webhook == nil {
		return snapshot, nil, nil
	}
	if err := c.observer.Claim(snapshot); err != nil {
		return nil, nil, err
	}
	snapshot.Controller = *c.objectJSON.Load()
	answers, err := c.callHooks(ctx, state, snapshot, webhook)
	return snapshot, answers, err
}

// callHook completes the snapshot with the related objects and asks the hook.
func (c *Controller) callHook(ctx context.Context, answer *related.Answer, webhook *hook.Webhook, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
	if err := c.observeRelated(ctx, answer, snapshot); err != nil {
		return nil, err
	}
	response, err := c.spec.Kind.CallHook(webhook, ctx, snapshot)
	c.hookCalls.update(webhook.Name(), snapshot, err)
	return response, err
}

// planAndAct decides and plans what the answers take and does it.
func (c *Controller) planAndAct(ctx context.Context, started time.Time, state *parentState, snapshot *pipeline.Snapshot, answers *hookResponses) syncResult {
	decision, err := c.decide(state, snapshot, answers, time.Now())
	if err != nil {
		return syncResult{err: err}
	}
	if err := c.storeRevisions(ctx, state, snapshot, decision.Writes); err != nil {
		return syncResult{err: err}
	}
	result := syncResult{resyncAfter: decision.Response.ResyncAfter}
	if answers.rollout != nil {
		result.resyncAfter = sooner(result.resyncAfter, c.reportRollout(state, snapshot.Parent, decision, time.Now()))
	}
	if decision.Response.IsNoOp {
		return result
	}
	planned, err := c.spec.Kind.Plan(snapshot, decision.Response, c.strategies, &state.upToDate)
	if err != nil {
		result.err = err
		return result
	}
	c.reportDuplicates(state, snapshot, planned)
	state.upToDate.Prune(snapshot)
	state.noOp = knownNoOp{}
	outcomes, after := c.act(ctx, started, snapshot, planned)
	result.resyncAfter = sooner(result.resyncAfter, after)
	c.observer.Wrote(&state.pending, outcomes)
	state.upToDate.Wrote(outcomes)
	if answers.rollout == nil {
		state.noOp.remember(answers.planInputs, decision.Response, planned, outcomes, after)
	}
	if answers.rollout != nil && state.rollout.events.waitsFor != "" && slices.ContainsFunc(outcomes, confirmsChild) {
		result.resyncAfter = sooner(result.resyncAfter, readBackInterval)
	}

	errs := planned.Refused
	for _, outcome := range outcomes {
		if outcome.Err != nil {
			errs = append(errs, outcome.Err)
		}
		result.retry = result.retry || outcome.NameConflict || outcome.Conflict
	}
	missed, taken := conflictingNames(outcomes)
	c.reportNameConflicts(state, snapshot.Parent, taken)
	c.nameConflicts.set(pipeline.KeyOf(snapshot.Parent), missed)
	result.err = joinErrors(errs)
	result.incomplete = incompleteError(taken, after)
	return result
}

// report reports how the sync went and says when the parent's next one is.
func (c *Controller) report(ctx context.Context, key pipeline.Key, state *parentState, attempt syncResult) syncqueue.Result {
	if throttled, ok := errors.AsType[*hook.ThrottledError](attempt.err); ok {
		klog.FromContext(ctx).V(2).Info("Hook asks to be called later", "after", throttled.After)
		if throttled.After == 0 {
			return syncqueue.Backoff(0)
		}
		return syncqueue.RequeueAfter(throttled.After)
	}
	if waiting, ok := errors.AsType[*related.Waiting](attempt.err); ok {
		return syncqueue.RequeueAfter(waiting.After)
	}
	if down, ok := errors.AsType[*hook.CircuitOpenError](attempt.err); ok {
		return syncqueue.RequeueAfter(down.After)
	}
	if early, ok := errors.AsType[*finalizerPostponedError](attempt.err); ok {
		return syncqueue.RequeueAfter(early.after)
	}
	if errors.Is(attempt.err, errConflict) {
		return syncqueue.Backoff(0)
	}
	if attempt.err != nil {
		klog.FromContext(ctx).Error(attempt.err, fmt.Sprintf("failed to sync %s '%s'", key.Kind, key.NamespacedName))
		if parent := c.observer.Get(key); parent != nil && state.syncErrorEvents.markIfDue(attempt.err.Error(), time.Now()) {
			c.Events.SyncError(parent, attempt.err)
		}
		return syncqueue.Backoff(attempt.resyncAfter)
	}
	state.syncErrorEvents = eventDeduplicator{}
	if attempt.retry {
		return syncqueue.Backoff(attempt.resyncAfter)
	}
	return syncqueue.Done(attempt.resyncAfter)
}

// incompleteError says what a sync that did not fail has not done: create children whose names
// somebody else has, and write again what is slowed down.
func incompleteError(taken []pipeline.Key, slowedDown time.Duration) error {
	switch {
	case len(taken) > 0:
		return fmt.Errorf("the names of children belong to others: %s", strings.Join(keyNames(taken), ", "))
	case slowedDown > 0:
		return errors.New("what would be written again and again is slowed down, see the condition Stable")
	}
	return nil
}

// keyNames are the objects as messages name them, in order.
func keyNames(keys []pipeline.Key) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = key.String()
	}
	slices.Sort(names)
	return names
}

// act takes the steps of a plan, but for those that would go on for ever and for which it is too
// early. After is when the first of these is due, zero if there are none. Started is when
// the sync was.
func (c *Controller) act(ctx context.Context, started time.Time, snapshot *pipeline.Snapshot, planned *pipeline.Plan) (outcomes []pipeline.Outcome, after time.Duration) {
	next, news := c.guard.Postpone(snapshot, planned, started)
	c.reportWriteLoops(snapshot.Parent, news, started)
	outcomes = c.Actor.Act(ctx, snapshot, planned)
	now := time.Now()
	c.guard.Wrote(snapshot, outcomes, now)
	if next.IsZero() {
		return outcomes, 0
	}
	return outcomes, max(next.Sub(now), 1)
}

// sooner is the shorter of two times, either of which is none if it is zero.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
