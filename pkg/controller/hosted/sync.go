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

// readBackPatience is how long the caches may take to show a write before that is an error.
const readBackPatience = 10 * time.Second

// sync is one pass over one parent.
func (c *Controller) sync(ctx context.Context, parent pipeline.Key) syncqueue.Result {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("parent", klog.KRef(parent.Namespace, parent.Name), "kind", parent.Kind))
	memory := c.parents.get(parent)
	if waits, err := c.awaitsOwnWrites(memory, time.Now()); err != nil {
		c.parents.record(parent, err)
		return c.verdict(ctx, parent, memory, attempt{err: err})
	} else if waits {
		return syncqueue.RequeueAfter(readBackInterval)
	}
	attempt := c.attempt(ctx, parent, memory)
	attempt.err, attempt.unmet = brief(attempt.err), brief(attempt.unmet)
	switch {
	case ctx.Err() != nil:
		return syncqueue.Done(0)
	case attempt.gone:
		c.hooks.forget(memory.uid)
		c.forget(parent, memory)
		return syncqueue.Forget()
	}
	c.parents.record(parent, cmp.Or(attempt.err, attempt.unmet))
	return c.verdict(ctx, parent, memory, attempt)
}

// awaitsOwnWrites tells whether the caches do not show yet what the last sync has written. The
// error says what they have not shown for long.
func (c *Controller) awaitsOwnWrites(memory *memory, now time.Time) (waits bool, err error) {
	if memory.pending.Seen() && c.showsRevisions(memory) {
		memory.awaits = time.Time{}
		return false, nil
	}
	if memory.awaits.IsZero() {
		memory.awaits = now
	}
	if now.Sub(memory.awaits) < readBackPatience {
		return true, nil
	}
	if err := memory.pending.Unseen(); err != nil {
		return true, err
	}
	return true, errors.New("what was written to ControllerRevisions does not come back by their watch")
}

// showsRevisions tells whether the caches show what was written to the parent's revisions.
func (c *Controller) showsRevisions(memory *memory) bool {
	return memory.rolling == nil || c.Revisions.Seen(&memory.rolling.revisions)
}

// attempt is how a sync went.
type attempt struct {
	// gone tells that there is no parent to sync.
	gone bool
	// resync is when the hook asks for another sync, or something is to be written that
	// it was too early for.
	resync time.Duration
	// unmet is what keeps the parent from being as its hook wants although nothing failed.
	unmet error
	// again tells that something stood in the way which may pass without an event that
	// leads to another sync.
	again bool
	err   error
}

// attempt asks the hook about a parent and does what it answers. A panic becomes the
// error of the sync.
func (c *Controller) attempt(ctx context.Context, parent pipeline.Key, memory *memory) (result attempt) {
	defer recoverInto(ctx, &result.err)
	started := time.Now()
	snapshot, answers, err := c.ask(ctx, memory, parent)
	if answers == nil || err != nil {
		return attempt{gone: snapshot == nil && err == nil, err: err}
	}
	return c.carryOut(ctx, started, memory, snapshot, answers)
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
func (c *Controller) ask(ctx context.Context, memory *memory, parent pipeline.Key) (*pipeline.Snapshot, *answers, error) {
	snapshot, err := c.hold(ctx, memory, parent)
	if snapshot == nil || err != nil {
		return nil, nil, err
	}
	if uid := snapshot.Parent.UID; uid != memory.uid {
		c.hooks.forget(memory.uid) // a parent that had the name before
		memory.uid = uid
	}
	webhook := c.hooks.of(snapshot)
	if webhook == nil {
		return snapshot, nil, nil
	}
	if err := c.observer.Claim(snapshot); err != nil {
		return nil, nil, err
	}
	snapshot.Controller = *c.object.Load()
	answers, err := c.answers(ctx, memory, snapshot, webhook)
	return snapshot, answers, err
}

// askRelated completes the snapshot with the related objects and asks the hook.
func (c *Controller) askRelated(ctx context.Context, answer *related.Answer, webhook *hook.Webhook, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
	if err := c.relate(ctx, answer, snapshot); err != nil {
		return nil, err
	}
	response, err := c.spec.Kind.Ask(webhook, ctx, snapshot)
	c.calls.record(webhook.Name(), snapshot, err)
	return response, err
}

// carryOut decides and plans what the answers take and does it.
func (c *Controller) carryOut(ctx context.Context, started time.Time, memory *memory, snapshot *pipeline.Snapshot, answers *answers) attempt {
	decision, err := c.decide(memory, snapshot, answers, time.Now())
	if err != nil {
		return attempt{err: err}
	}
	if err := c.storeRevisions(ctx, memory, snapshot, decision.Writes); err != nil {
		return attempt{err: err}
	}
	result := attempt{resync: decision.Response.ResyncAfter}
	if answers.rollout != nil {
		result.resync = sooner(result.resync, c.tellRollout(memory, snapshot.Parent, decision, time.Now()))
	}
	if decision.Response.IsNoOp {
		return result
	}
	planned, err := c.spec.Kind.Plan(snapshot, decision.Response, c.strategies, &memory.settled)
	if err != nil {
		result.err = err
		return result
	}
	c.tellDuplicates(memory, snapshot, planned)
	memory.settled.Prune(snapshot)
	memory.rest = resting{}
	outcomes, after := c.act(ctx, started, snapshot, planned)
	result.resync = sooner(result.resync, after)
	c.observer.Wrote(&memory.pending, outcomes)
	memory.settled.Wrote(outcomes)
	if answers.rollout == nil {
		memory.rest.settle(answers.inputs, decision.Response, planned, outcomes, after)
	}
	if answers.rollout != nil && memory.rolling.news.waitsFor != "" && slices.ContainsFunc(outcomes, settles) {
		result.resync = sooner(result.resync, readBackInterval)
	}

	errs := planned.Refused
	for _, outcome := range outcomes {
		if outcome.Err != nil {
			errs = append(errs, outcome.Err)
		}
		result.again = result.again || outcome.NameConflict || outcome.Conflict
	}
	missed, taken := namesIn(outcomes)
	c.tellTaken(memory, snapshot.Parent, taken)
	c.taken.set(pipeline.KeyOf(snapshot.Parent), missed)
	result.err = joined(errs)
	result.unmet = unmet(taken, after)
	return result
}

// verdict reports how the sync went and says when the parent's next one is.
func (c *Controller) verdict(ctx context.Context, key pipeline.Key, memory *memory, attempt attempt) syncqueue.Result {
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
	if early, ok := errors.AsType[*tooEarly](attempt.err); ok {
		return syncqueue.RequeueAfter(early.after)
	}
	if errors.Is(attempt.err, errOvertaken) {
		return syncqueue.Backoff(0)
	}
	if attempt.err != nil {
		klog.FromContext(ctx).Error(attempt.err, fmt.Sprintf("failed to sync %s '%s'", key.Kind, key.NamespacedName))
		if parent := c.observer.Get(key); parent != nil && memory.told.news(attempt.err.Error(), time.Now()) {
			c.Events.SyncError(parent, attempt.err)
		}
		return syncqueue.Backoff(attempt.resync)
	}
	memory.told = told{}
	if attempt.again {
		return syncqueue.Backoff(attempt.resync)
	}
	return syncqueue.Done(attempt.resync)
}

// unmet says what a sync that did not fail has not done: create children whose names
// somebody else has, and write again what is slowed down.
func unmet(taken []pipeline.Key, slowedDown time.Duration) error {
	switch {
	case len(taken) > 0:
		return fmt.Errorf("the names of children belong to others: %s", strings.Join(named(taken), ", "))
	case slowedDown > 0:
		return errors.New("what would be written again and again is slowed down, see the condition Stable")
	}
	return nil
}

// named are the objects as messages name them, in order.
func named(keys []pipeline.Key) []string {
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
	c.tellLoops(snapshot.Parent, news, started)
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
