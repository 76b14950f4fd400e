// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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

// Planner takes a parent from the caches to a plan: it observes, calls the hooks, decides and plans. A sync uses the
// Planner of its controller, and writes and reports between these stages. A preview uses a copy with hooks of its own,
// and does neither.
type Planner struct {
	Stages *Stages
	// Rollout has the rules by which changes of parents are rolled out; nil for decorators.
	Rollout    *rollout.Rules
	Observer   observe.Observer
	Strategies plan.Strategies
	Hooks      Hooks
	// Related is nil without a customize hook.
	Related   *related.Observer
	Revisions *store.Store
	// ObjectJSON is the CompositeController or DecoratorController as it is sent to hooks.
	ObjectJSON *atomic.Pointer[[]byte]
	// Called is called after each call of a hook about the snapshot's parent. The response is nil for a customize hook.
	Called func(hook string, snapshot *pipeline.Snapshot, response *pipeline.Response, err error)
}

// Stages are the stages in which the two kinds of controllers differ.
type Stages struct {
	// CallHook calls a sync or finalize hook with the kind's form of request and response.
	CallHook func(webhook *hook.Webhook, ctx context.Context, snapshot *pipeline.Snapshot) (*pipeline.Response, error)
	// Plan makes a plan of the hook's response.
	Plan func(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies plan.Strategies,
		upToDate *plan.UpToDateCache) (*pipeline.Plan, error)
	// PlanInputsHash returns the hash of what a plan depends on other than the response.
	PlanInputsHash func(snapshot *pipeline.Snapshot) uint64
}

// ObserveChildren adds the children of the parent to the snapshot, and returns the hook to call about the
// parent. If the spec has no such hook, it adds nothing and returns nil.
func (p *Planner) ObserveChildren(snapshot *pipeline.Snapshot) (*hook.Webhook, error) {
	webhook := p.Hooks.forSnapshot(snapshot)
	if webhook == nil {
		return nil, nil
	}
	if err := p.Observer.Claim(snapshot); err != nil {
		return nil, err
	}
	plan.HideKept(snapshot)
	snapshot.Controller = *p.ObjectJSON.Load()
	return webhook, nil
}

// Responses are the responses of the hooks about one parent: one response or, while its children roll out, one for each
// version of the parent that they are at.
type Responses struct {
	// All are the responses, the one about the current version first.
	All []*pipeline.Response
	// Rollout knows the versions; nil if no children roll out.
	Rollout *rollout.Rollout
	// planInputs is the hash of the inputs of the plan other than the response, and of the warnings
	// about the answer of the customize hook. It is set if Rollout is nil.
	planInputs uint64
}

// CallHooks calls the webhook about the snapshot's parent.
func (p *Planner) CallHooks(
	ctx context.Context, state *State, snapshot *pipeline.Snapshot, webhook *hook.Webhook,
) (*Responses, error) {
	if rules := p.Rollout; rules != nil && rules.Active(snapshot) {
		return p.callHooksOfRollout(ctx, state, snapshot, webhook)
	}
	answer := p.CustomizeAnswer(state)
	if err := p.observeRelated(ctx, answer, snapshot); err != nil {
		return nil, err
	}
	planInputs := p.Stages.PlanInputsHash(snapshot) + answer.WarningsHash()
	snapshot.NoOp = state.NoOp.matching(planInputs)
	response, err := p.callHook(ctx, answer, webhook, snapshot)
	return &Responses{All: []*pipeline.Response{response}, planInputs: planInputs}, err
}

// callHook calls the webhook about the snapshot's parent. The response includes the warnings about the answer of the
// customize hook.
func (p *Planner) callHook(
	ctx context.Context, answer *related.Answer, webhook *hook.Webhook, snapshot *pipeline.Snapshot,
) (*pipeline.Response, error) {
	response, err := p.Stages.CallHook(webhook, ctx, snapshot)
	p.Called(webhook.Name(), snapshot, response, err)
	if err == nil && !response.IsNoOp {
		response.Warnings = append(response.Warnings, answer.Warnings()...)
	}
	return response, err
}

// callHooksOfRollout calls the hook about each version of the parent that its children are at.
func (p *Planner) callHooksOfRollout(
	ctx context.Context, state *State, snapshot *pipeline.Snapshot, webhook *hook.Webhook,
) (*Responses, error) {
	stored, err := p.RevisionsOf(snapshot)
	if err != nil {
		return nil, err
	}
	open, err := rollout.Open(p.Rollout, snapshot, stored, &state.ensureRollout().versions)
	if err != nil {
		return nil, err
	}
	responses, err := p.callHookPerRevision(ctx, state, snapshot, open.Revisions, webhook)
	return &Responses{All: responses, Rollout: open}, err
}

// parallelEarlier bounds the concurrent calls for earlier versions of one parent.
const parallelEarlier = 4

// callHookPerRevision calls the hook about all versions of a parent, some in parallel. The first is the
// present one.
func (p *Planner) callHookPerRevision(ctx context.Context, state *State, snapshot *pipeline.Snapshot,
	revisions []*rollout.Revision, webhook *hook.Webhook) ([]*pipeline.Response, error) {
	for _, gone := range state.ensureRollout().keepEarlierAnswers(revisions[1:]) {
		p.forgetAnswer(gone)
	}
	responses, errs := make([]*pipeline.Response, len(revisions)), make([]error, len(revisions))
	call := func(i int, answer *related.Answer, about *pipeline.Snapshot) {
		defer Recover(ctx, &errs[i])
		if errs[i] = p.observeRelated(ctx, answer, about); errs[i] == nil {
			responses[i], errs[i] = p.callHook(ctx, answer, webhook, about)
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
	call(0, p.CustomizeAnswer(state), snapshot)
	_ = calls.Wait() // errs has the errors
	return responses, JoinErrors(errs)
}

// Decide combines the responses into one, and returns it with the writes to ControllerRevisions
// that must come before those to children. Without a rollout there is only one response.
func (p *Planner) Decide(
	state *State, snapshot *pipeline.Snapshot, responses *Responses, now time.Time,
) (*rollout.Decision, error) {
	if responses.Rollout == nil {
		writes, err := p.abandon(snapshot)
		return &rollout.Decision{Response: responses.All[0], Writes: writes}, err
	}
	return responses.Rollout.Decide(responses.All, plan.UpToDate(snapshot, p.Strategies, &state.UpToDate), now)
}

// abandon returns the writes that remove the remains of earlier rollouts, if the controller no longer rolls out any
// child type.
func (p *Planner) abandon(snapshot *pipeline.Snapshot) ([]revisions.Write, error) {
	if rules := p.Rollout; rules == nil || len(rules.Kinds) > 0 {
		return nil, nil
	}
	stored, err := p.RevisionsOf(snapshot)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	return rollout.Abandon(snapshot, stored), nil
}

// RevisionsOf returns the ControllerRevisions of the parent.
func (p *Planner) RevisionsOf(snapshot *pipeline.Snapshot) ([]*revisions.Stored, error) {
	return p.Revisions.For(snapshot.Parent.UID, p.Rollout.NamespaceOf(snapshot.Parent))
}

// LacksNamespace reports whether a ControllerRevision could not be created because its namespace does
// not exist or is being deleted.
func LacksNamespace(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil &&
		status.ErrStatus.Details.Kind == "namespaces"
}

// Plan compares a response with the observed objects.
func (p *Planner) Plan(
	ctx context.Context, state *State, snapshot *pipeline.Snapshot, response *pipeline.Response,
) (*pipeline.Plan, error) {
	_, span := tracing.Start(ctx, "plan")
	defer span.End()
	planned, err := p.Stages.Plan(snapshot, response, p.Strategies, &state.UpToDate)
	span.Fail(err)
	if err == nil && span.IsRecorded() {
		span.Set(tracing.Steps.Int(len(planned.Steps)))
	}
	return planned, err
}

// Customize calls the customize hook.
func (p *Planner) Customize(
	ctx context.Context, snapshot *pipeline.Snapshot,
) ([]pipeline.RelatedRule, []pipeline.Warning, error) {
	rules, warnings, err := p.Hooks.Customize.Customize(ctx, snapshot)
	p.Called(hook.Customize, snapshot, nil, err)
	return rules, warnings, err
}

// CustomizeAnswer returns the customize hook's answer about a parent, empty before its first
// call; nil without a customize hook.
func (p *Planner) CustomizeAnswer(state *State) *related.Answer {
	if p.Related != nil && state.answer == nil {
		state.answer = &related.Answer{}
	}
	return state.answer
}

// observeRelated adds the parent's related objects to the snapshot.
func (p *Planner) observeRelated(ctx context.Context, answer *related.Answer, snapshot *pipeline.Snapshot) error {
	if p.Related == nil {
		return nil
	}
	return p.Related.Observe(ctx, answer, snapshot)
}

// Forget releases the views of a parent that no longer exists.
func (p *Planner) Forget(state *State) {
	for _, answer := range state.answers() {
		p.forgetAnswer(answer)
	}
}

// forgetAnswer releases what was observed because of an answer of the customize hook.
func (p *Planner) forgetAnswer(answer *related.Answer) {
	if p.Related != nil {
		p.Related.Forget(answer)
	}
}
