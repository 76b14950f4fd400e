// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

const (
	// readBackInterval is the time after which a parent is synced again if the caches do not show
	// its last writes yet. Usually the event of the write comes first.
	readBackInterval = 100 * time.Millisecond
	// readBackTimeout is the time after which it is an error that the caches do not show a write.
	readBackTimeout = 10 * time.Second

	// refusedInterval is the time after which a parent is tried again if its controller may not read what it
	// needs. Such a controller is stopped, but that can take a while.
	refusedInterval = 15 * time.Second
)

// sync is one pass over one parent: observe, call the hook, plan, act and report. It returns when
// the parent is synced next.
func (c *Controller) sync(ctx context.Context, parent object.Key, cause syncqueue.Cause) syncqueue.Result {
	logger := klog.FromContext(ctx)
	ctx = klog.NewContext(ctx, logger.WithValues("parent", klog.KRef(parent.Namespace, parent.Name), "kind", parent.Kind))
	c.Leaving.syncs.Add(1)
	defer c.Leaving.syncs.Add(-1)
	if c.Leaving.ended.Load() {
		return syncqueue.RequeueAfter(readBackInterval) // it may resume
	}
	state, started := c.parents.get(parent), time.Now()
	state.mu.Lock()
	defer state.mu.Unlock()
	if wait, err := c.checkOwnWrites(state, started); err != nil {
		return c.conclude(ctx, parent, state, &syncFacts{err: err}, started)
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
	if c.Leaving.leavesAlone(parent) {
		return syncqueue.Done(0)
	}
	facts := c.syncParent(ctx, parent, state, cause)
	if c.DeveloperMode {
		rows.LogSync(logger, parent, facts.outcomes)
	}
	facts.err, facts.nameConflict = c.truncate(facts.err), c.truncate(facts.nameConflict)
	tracing.FromContext(ctx).Fail(cmp.Or(facts.err, facts.nameConflict))
	if ctx.Err() != nil {
		return syncqueue.Done(0)
	}
	return c.conclude(ctx, parent, state, &facts, started)
}

// conclude determines the result of a sync that began at started, reports and records it, and returns the time of the
// next sync of the parent.
func (c *Controller) conclude(
	ctx context.Context, parent object.Key, state *parentState, facts *syncFacts, started time.Time,
) syncqueue.Result {
	result := c.resultOf(ctx, parent, state, facts, time.Now())
	if result.kind == gone {
		if !state.pending.DropSeen() {
			return syncqueue.RequeueAfter(readBackInterval) // the cache does not show yet that its finalizer was removed
		}
		c.forget(parent, state)
		return result.next
	}
	c.report(ctx, parent, state, &result)
	c.rows.SyncEnded(parent, &state.record, rows.Sync{
		Started: started, Generation: state.generation, Children: state.children, Note: result.note,
	}, slices.Concat(state.finalizerSteps, facts.outcomes))
	state.finalizerSteps = nil
	return result.next
}

// checkOwnWrites returns true if the caches do not show the writes of the last sync yet, and also an error after
// readBackTimeout. It sets state.unseenSince.
func (c *Controller) checkOwnWrites(state *parentState, now time.Time) (wait bool, err error) {
	if state.pending.DropSeen() && c.revisions.isSeen(state) {
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
	return true, errors.New("the watch of ControllerRevisions does not show the last write yet")
}

// isPaused reports whether syncs of a parent do nothing: they call no hook and write nothing, not even its finalizer.
// The event of the parent or the new spec that ends the pause causes a sync.
func (c *Controller) isPaused(key object.Key) bool {
	parent := c.planner.Observer.Get(key)
	return parent != nil && c.spec.pauses(parent) && c.planner.Observer.Handles(parent)
}

// pause notes that a parent is paused. The outcome of its last sync no longer counts, nor the time for which the
// parent had waited: while the parent is paused, nothing can make progress.
func (c *Controller) pause(parent object.Key, state *parentState) {
	state.record.Pause(time.Now())
	state.finalization, state.unfinishedSince = nil, 0
	state.reported.Pause()
	c.hookCalls.Forget(parent)
	c.reporter.Pause(parent)
}

// syncParent is the sync of a parent whose last writes the caches show. A panic becomes an error. A preview takes the
// same steps in the method follow of preview.run.
func (c *Controller) syncParent(
	ctx context.Context, parent object.Key, state *parentState, cause syncqueue.Cause,
) (facts syncFacts) {
	defer planner.Recover(ctx, &facts.err)
	ctx, room, err := c.Hook.Budget.Enter(ctx, c.owner, state.bytes)
	if err != nil {
		return syncFacts{err: err}
	}
	defer func() { state.bytes = room.Leave() }()
	started := time.Now()
	if c.spec.Lacks != nil && c.stays(parent) {
		return syncFacts{err: c.spec.Lacks}
	}
	snapshot, webhook, err := c.observe(ctx, state, parent)
	switch {
	case err != nil:
		return syncFacts{err: err}
	case snapshot == nil:
		return syncFacts{gone: true}
	case webhook == nil:
		c.hookCalls.Forget(parent)
		return syncFacts{}
	}
	snapshot.Trigger = cause.Trigger()
	if cause == syncqueue.Asked {
		c.guard.Forgive(parent)
		state.setLoopsEnd(time.Time{})
	}
	responses, err := c.planner.CallHooks(ctx, &state.planning, snapshot, webhook)
	if err != nil {
		if errors.As(err, new(*hook.ThrottledError)) {
			c.Leaving.hookAnswered()
		}
		c.reporter.CustomizeWarnings(&state.reported, snapshot.Parent, state.planning.CustomizeWarnings())
		return syncFacts{err: err}
	}
	c.Leaving.hookAnswered()
	facts = c.planAndAct(ctx, started, state, snapshot, responses)
	facts.leaving = longestLeaving(snapshot)
	return facts
}

// stays reports whether a parent exists and is not being deleted.
func (c *Controller) stays(parent object.Key) bool {
	of := c.planner.Observer.Get(parent)
	return of != nil && of.DeletionTimestamp == nil && c.planner.Observer.Handles(of)
}

// observe returns the parent with its children, and the hook to call about it. The snapshot is nil
// if there is no parent; the webhook is nil if the spec has no hook for it.
func (c *Controller) observe(
	ctx context.Context, state *parentState, parent object.Key,
) (*pipeline.Snapshot, *hook.Webhook, error) {
	snapshot, err := c.finalizers.observe(ctx, state, parent)
	if snapshot == nil || err != nil {
		return nil, nil, err
	}
	if uid := snapshot.Parent.UID; uid != state.uid {
		c.planner.Hooks.Forget(state.uid) // an earlier parent of the same name
		state.uid, state.unfinishedSince, state.loopsEnd, state.finalization = uid, 0, 0, nil
		state.children = rows.ChildCounts{}
		c.rows.Steps.Forget(parent)
		state.reported.Reset()
	}
	state.generation = snapshot.Parent.Generation
	webhook, err := c.planner.ObserveChildren(snapshot)
	if webhook != nil {
		c.reporter.Finalizing(&state.reported, snapshot)
	}
	return snapshot, webhook, err
}

// planAndAct makes one plan of the responses of the hooks and takes its steps.
func (c *Controller) planAndAct(ctx context.Context, started time.Time, state *parentState,
	snapshot *pipeline.Snapshot, responses *planner.Responses) syncFacts {
	decision, err := c.planner.Decide(&state.planning, snapshot, responses, time.Now())
	if err != nil {
		return syncFacts{err: err}
	}
	if of := responses.All[0]; !of.IsNoOp {
		c.reporter.HookEvents(&state.reported, snapshot, of.Events)
	}
	if err := c.revisions.write(ctx, state, snapshot, decision.Writes); err != nil {
		return syncFacts{err: err}
	}
	facts := syncFacts{resyncAfter: decision.Response.ResyncAfter}
	if state.finalization = state.finalization.next(snapshot, decision.Response, time.Now()); state.finalization != nil {
		facts.unfinalized = snapshot
	}
	var waiting []pipeline.Warning
	if responses.Rollout != nil {
		var next time.Duration
		next, waiting = c.reporter.Rollout(&state.reported, snapshot.Parent, decision, time.Now())
		if len(responses.All) > 1 || decision.Updated.Status != metav1.ConditionTrue {
			facts.rollout = decision.Updated.Message
		}
		if facts.resyncAfter = sooner(facts.resyncAfter, next); next > 0 {
			facts.resyncAfter = sooner(facts.resyncAfter, decision.Recheck)
		}
	}
	if decision.Response.IsNoOp {
		return facts
	}
	planned, err := c.planner.Plan(ctx, &state.planning, snapshot, decision.Response)
	if err != nil {
		facts.err = err
		return facts
	}
	findings := slices.Concat(state.reported.RecallDeletion(status.FindingsOf(decision.Response, planned)), waiting,
		planned.Notices)
	c.reporter.Findings(&state.reported, snapshot.Parent, findings, planned.Outdated)
	state.planning.UpToDate.Prune(snapshot)
	state.planning.NoOp = planner.NoOp{}
	outcomes, kept, after := c.act(ctx, started, state, snapshot, planned)
	facts.outcomes = outcomes
	c.reporter.Adoptions(snapshot.Parent, outcomes)
	if state.children = (rows.ChildCounts{}); snapshot.Managed {
		state.children = rows.CountChildren(planned, outcomes, kept, len(decision.Behind))
	}
	c.reporter.WriteWarnings(&state.reported, snapshot.Parent, findings, plan.WriteWarnings(snapshot, planned, outcomes),
		planned.Outdated)
	facts.resyncAfter = sooner(facts.resyncAfter, after)
	c.planner.Observer.Wrote(&state.pending, outcomes)
	state.planning.Wrote(responses, decision.Response, planned, outcomes, after)
	switch {
	case responses.Rollout == nil:
	case state.reported.RolloutWaits() && slices.ContainsFunc(outcomes, confirmsChild),
		len(decision.Moved) > 0 && slices.ContainsFunc(outcomes, leavesChild):
		facts.resyncAfter = sooner(facts.resyncAfter, readBackInterval)
	}

	errs := planned.Refused
	for _, outcome := range outcomes {
		if outcome.Err != nil {
			errs = append(errs, outcome.Err)
		}
		switch {
		case facts.overtaken != nil:
		case outcome.Conflict:
			facts.overtaken = overtaken(&outcome)
		case isLeft(&outcome, snapshot.Parent):
			facts.overtaken = leftError(&outcome, snapshot.Parent)
		}
		facts.retry = facts.retry || outcome.NameConflict || outcome.Conflict
	}
	facts.err = planner.JoinErrors(errs)
	facts.nameConflict = nameConflictError(outcomes, snapshot)
	c.reporter.NameConflicts(&state.reported, snapshot.Parent, facts.nameConflict)
	c.nameConflicts.set(object.KeyOf(snapshot.Parent), missedNames(outcomes))
	return facts
}

// act takes the steps of a plan, except those that the guard against write loops postpones. It returns the time until
// the first of these is due, zero if none was postponed, and how many children the plan leaves as they are. The sync
// began at started.
func (c *Controller) act(
	ctx context.Context, started time.Time, state *parentState, snapshot *pipeline.Snapshot, planned *pipeline.Plan,
) (outcomes []pipeline.Outcome, kept int, after time.Duration) {
	kept = rows.CountKept(planned)
	next, loops := c.guard.Postpone(snapshot, planned, started)
	c.reporter.WriteLoops(snapshot.Parent, loops, started)
	outcomes = c.Actor.Act(ctx, snapshot, planned)
	c.reporter.DropTypeWarnings(outcomes, c.views())
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

// confirmsChild reports whether a step shows by its result that a child is as it should be. A rollout that waits for
// the child can then continue. If the step changed nothing, no event leads to that sync.
func confirmsChild(outcome pipeline.Outcome) bool {
	return outcome.Result != nil && outcome.Op.MayChangeNothing()
}

// leavesChild reports whether a step wrote a child and the host left it as it was. If the rollout has just moved
// that child, no event leads to the sync in which the rollout continues.
func leavesChild(outcome pipeline.Outcome) bool {
	return !outcome.Op.OnParent() && outcome.Result != nil && !outcome.StoredNewVersion()
}

// forget drops everything that is known about a parent that is gone.
func (c *Controller) forget(parent object.Key, state *parentState) {
	c.planner.Hooks.Forget(state.uid)
	c.parents.forget(parent)
	c.reporter.Forget(parent)
	c.hookCalls.Forget(parent)
	c.nameConflicts.set(parent, nil)
	c.rows.Steps.Forget(parent)
	c.planner.Forget(&state.planning)
}

// truncate returns the error with a text that is not too long: the host may quote the objects that it refuses, and it
// may refuse thousands of children at once.
func (c *Controller) truncate(err error) error {
	if err == nil {
		return nil
	}
	most := report.MaxMessage
	if c.DeveloperMode {
		most = report.MaxWholeMessage
	}
	whole := err.Error()
	if len(whole) <= most {
		return err
	}
	return &truncatedError{text: text.Shorten(whole, most), err: err}
}

// truncatedError is an error that shows only the beginning of its text.
type truncatedError struct {
	text string
	err  error
}

func (t *truncatedError) Error() string { return t.text }

func (t *truncatedError) Unwrap() error { return t.err }
