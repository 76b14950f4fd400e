// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
)

// line is the way of a parent from the caches to a plan: observe, call the hooks, decide, plan. A sync goes
// along it, and writes and reports between its stages. A preview goes along one that is like it, and does
// neither.
type line struct {
	spec       *Spec
	observer   observe.Observer
	strategies plan.Strategies
	hooks      hooks
	// related is nil without a customize hook.
	related   *related.Observer
	revisions *store.Store
	// objectJSON is the CompositeController or DecoratorController as it is sent to hooks.
	objectJSON *atomic.Pointer[[]byte]
	// called is told how each call of a hook about the snapshot's parent has ended. The response is nil
	// for a customize hook.
	called func(hook string, snapshot *pipeline.Snapshot, response *pipeline.Response, err error)
}

// observeChildren adds the children to a snapshot that has its parent, and returns the hook to call about
// it. The hook is nil, and the children are missing, if the spec has none for it.
func (l *line) observeChildren(snapshot *pipeline.Snapshot) (*hook.Webhook, error) {
	webhook := l.hooks.forSnapshot(snapshot)
	if webhook == nil {
		return nil, nil
	}
	if err := l.observer.Claim(snapshot); err != nil {
		return nil, err
	}
	plan.HideKept(snapshot)
	snapshot.Controller = *l.objectJSON.Load()
	return webhook, nil
}

// hookResponses are the responses of the hooks about one parent: one response or, while its
// children roll out, one for each version of the parent that they are at.
type hookResponses struct {
	responses []*pipeline.Response
	// rollout knows the versions; nil if no children roll out.
	rollout *rollout.Rollout
	// planInputs is the hash of the inputs of the plan other than the response, and of the warnings
	// about the answer of the customize hook. It is set if rollout is nil.
	planInputs uint64
}

// callHooks calls the webhook about the snapshot's parent.
func (l *line) callHooks(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, webhook *hook.Webhook) (*hookResponses, error) {
	if rules := l.spec.Rollout; rules != nil && rules.Active(snapshot) {
		return l.callHooksOfRollout(ctx, state, snapshot, webhook)
	}
	answer := l.customizeAnswerOf(state)
	if err := l.observeRelated(ctx, answer, snapshot); err != nil {
		return nil, err
	}
	planInputs := l.spec.Kind.PlanInputsHash(snapshot) + answer.WarningsHash()
	snapshot.NoOp = state.noOp.matching(planInputs)
	response, err := l.callHook(ctx, answer, webhook, snapshot)
	return &hookResponses{responses: []*pipeline.Response{response}, planInputs: planInputs}, err
}

// callHook calls the webhook about the snapshot's parent. The response has the warnings about the
// answer of the customize hook, too.
func (l *line) callHook(ctx context.Context, answer *related.Answer, webhook *hook.Webhook, snapshot *pipeline.Snapshot) (*pipeline.Response, error) {
	response, err := l.spec.Kind.CallHook(webhook, ctx, snapshot)
	l.called(webhook.Name(), snapshot, response, err)
	if err == nil && !response.IsNoOp {
		response.Warnings = append(response.Warnings, answer.Warnings()...)
	}
	return response, err
}

// callHooksOfRollout calls the hook about each version of the parent that its children are at.
func (l *line) callHooksOfRollout(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, webhook *hook.Webhook) (*hookResponses, error) {
	stored, err := l.revisionsOf(snapshot)
	if err != nil {
		return nil, err
	}
	open, err := rollout.Open(l.spec.Rollout, snapshot, stored, &state.ensureRollout().versions)
	if err != nil {
		return nil, err
	}
	responses, err := l.callHookPerRevision(ctx, state, snapshot, open.Revisions, webhook)
	return &hookResponses{responses: responses, rollout: open}, err
}

// decide combines the responses into one, and returns it with the writes to ControllerRevisions
// that must come before those to children. Without a rollout there is only one response.
func (l *line) decide(state *parentState, snapshot *pipeline.Snapshot, responses *hookResponses, now time.Time) (*rollout.Decision, error) {
	if responses.rollout == nil {
		writes, err := l.abandon(snapshot)
		return &rollout.Decision{Response: responses.responses[0], Writes: writes}, err
	}
	return responses.rollout.Decide(responses.responses, plan.UpToDate(snapshot, l.strategies, &state.upToDate), now)
}

// abandon returns the writes that remove what earlier rollouts have left behind, if the controller
// no longer rolls out any child type.
func (l *line) abandon(snapshot *pipeline.Snapshot) ([]revisions.Write, error) {
	if rules := l.spec.Rollout; rules == nil || len(rules.Kinds) > 0 {
		return nil, nil
	}
	stored, err := l.revisionsOf(snapshot)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	return rollout.Abandon(snapshot, stored), nil
}

// revisionsOf returns the ControllerRevisions of the parent.
func (l *line) revisionsOf(snapshot *pipeline.Snapshot) ([]*revisions.Stored, error) {
	return l.revisions.For(snapshot.Parent.UID, l.spec.Rollout.NamespaceOf(snapshot.Parent))
}

// parallelEarlier is how many calls about earlier versions of one parent are made at once.
const parallelEarlier = 4

// callHookPerRevision calls the hook about all versions of a parent, some in parallel. The first is the
// present one.
func (l *line) callHookPerRevision(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, revisions []*rollout.Revision, webhook *hook.Webhook) ([]*pipeline.Response, error) {
	for _, gone := range state.ensureRollout().keepEarlierAnswers(revisions[1:]) {
		l.forgetAnswer(gone)
	}
	responses, errs := make([]*pipeline.Response, len(revisions)), make([]error, len(revisions))
	call := func(i int, answer *related.Answer, about *pipeline.Snapshot) {
		defer recoverInto(ctx, &errs[i])
		if errs[i] = l.observeRelated(ctx, answer, about); errs[i] == nil {
			responses[i], errs[i] = l.callHook(ctx, answer, webhook, about)
		}
	}
	// All calls share the state of the parent, so none may outlive this sync.
	var calls errgroup.Group
	calls.SetLimit(parallelEarlier)
	for i, revision := range revisions[1:] {
		about := *snapshot
		about.Parent, about.Present, about.Revision = revision.Parent, snapshot.Parent, revision.Name
		calls.Go(func() error {
			call(i+1, state.rollout.earlierAnswers[revision.Name], &about)
			if errs[i+1] != nil {
				errs[i+1] = fmt.Errorf("about the parent as of ControllerRevision %s: %w", revision.Name, errs[i+1])
			}
			return nil
		})
	}
	call(0, l.customizeAnswerOf(state), snapshot)
	_ = calls.Wait() // errs has the errors
	return responses, joinErrors(errs)
}

// plan compares a response with what is there.
func (l *line) plan(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, response *pipeline.Response) (*pipeline.Plan, error) {
	_, span := tracing.Start(ctx, "plan")
	defer span.End()
	planned, err := l.spec.Kind.Plan(snapshot, response, l.strategies, &state.upToDate)
	span.Fail(err)
	if err == nil && span.IsRecorded() {
		span.Set(tracing.Steps.Int(len(planned.Steps)))
	}
	return planned, err
}
