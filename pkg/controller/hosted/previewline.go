// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// follow goes the way of syncParent with a parent. The error is the one that the sync would fail with.
func (p *previewing) follow(ctx context.Context, parent *object.Object) error {
	if err := p.c.Reads.Check(ctx); err != nil {
		return err
	}
	if !p.observer.Handles(parent) {
		return fmt.Errorf("the controller does not handle %s: its selectors or namespaces leave it out", parent)
	}
	p.askForPreview(ctx)
	state, err := p.c.recall(ctx, parent)
	if err != nil {
		return err
	}
	// A sync of the parent, for which recall waits, may itself have waited for room.
	ctx, room, err := p.c.Hook.Budget.Enter(ctx, p.c.owner, state.bytes)
	if err != nil {
		return err
	}
	defer room.Leave()
	snapshot := p.observer.ParentAs(parent)
	p.preview.Type, p.preview.Paused = snapshot.ParentType, p.c.pauses(parent)
	if err := p.permit(ctx, shown{snapshot.ParentType, parent.Namespace, "the parent"}); err != nil {
		return err
	}
	if snapshot, err = p.withFinalizer(ctx, snapshot); snapshot == nil || err != nil {
		return err
	}
	snapshot.Trigger = pipeline.TriggerRequest
	if err := p.permitSelection(ctx, toSelectChildren(p.spec, parent)); err != nil {
		return err
	}
	webhook, err := p.observeChildren(snapshot)
	if err != nil {
		return err
	}
	if webhook == nil {
		p.preview.Planned = true
		return nil
	}
	p.preview.Hook = webhook.Name()
	if err := p.permit(ctx, childrenOf(snapshot)...); err != nil {
		return err
	}
	responses, err := p.callHooksForPreview(ctx, state, snapshot, webhook)
	if refusal := p.refusal(); refusal != nil {
		return refusal
	}
	if failure, missing := p.undecided(); missing {
		return failure
	}
	if err != nil || p.options.Until == v1alpha1.SyncReviewUntilResponse {
		return err
	}
	return p.planAndTry(ctx, state, snapshot, responses)
}

// withFinalizer returns the snapshot as it is after the write of the controller's finalizer, if that is due. It is
// nil if no parent is left then, or if the write is postponed.
func (p *previewing) withFinalizer(ctx context.Context, snapshot *pipeline.Snapshot) (*pipeline.Snapshot, error) {
	step, err := plan.FinalizerStep(snapshot)
	if step == nil || err != nil {
		return snapshot, err
	}
	planned := &pipeline.Plan{Steps: []pipeline.Step{*step}}
	now := time.Now()
	if until, _ := p.c.guard.Fork(snapshot, planned).PostponeStep(snapshot, step, now); !until.IsZero() {
		p.preview.Steps = append(p.preview.Steps, PreviewedStep{Step: *step, Postponed: true})
		p.preview.Planned = true
		return nil, nil
	}
	p.try(ctx, snapshot, planned)
	if failure := p.preview.Steps[0].Outcome; failure != nil && failure.Err != nil {
		return nil, failure.Err
	}
	after, err := object.Parse(step.Body)
	if err != nil {
		return nil, err
	}
	if snapshot.Outside || after.IsRemoved() {
		p.preview.Planned = true
		return nil, nil
	}
	return p.observer.ParentAs(after), nil
}

// planAndTry goes the way of planAndAct. It writes nothing but dry runs.
func (p *previewing) planAndTry(ctx context.Context, state *parentState, snapshot *pipeline.Snapshot, responses *hookResponses) error {
	decision, err := p.decide(state, snapshot, responses, time.Now())
	if err != nil {
		return err
	}
	p.preview.Answer = decision.Response
	if responses.rollout != nil {
		p.preview.Rollout = &PreviewedRollout{Updated: decision.Updated, Moved: decision.Moved, Behind: decision.Behind}
	}
	if err := p.previewRevisions(ctx, snapshot, decision.Writes); err != nil {
		return err
	}
	planned, err := p.plan(ctx, state, snapshot, decision.Response)
	if err != nil {
		return err
	}
	p.preview.Planned = true
	p.preview.Warnings, p.preview.Refused = status.FindingsOf(decision.Response, planned), planned.Refused
	if err := p.mayWrite(ctx, planned); err != nil {
		return err
	}
	p.try(ctx, snapshot, planned)
	return p.permit(ctx, stepsOf(p.preview.Steps)...)
}

// try adds the steps of a plan to the preview, except those that keep a child. Those that the guard against
// write loops does not postpone are sent in a dry run, if the preview is to go so far.
func (p *previewing) try(ctx context.Context, snapshot *pipeline.Snapshot, planned *pipeline.Plan) {
	first := len(p.preview.Steps)
	for _, step := range act.InOrder(planned) {
		p.preview.Steps = append(p.preview.Steps, PreviewedStep{Step: step})
	}
	added := p.preview.Steps[first:]
	p.c.guard.Fork(snapshot, planned).Postpone(snapshot, planned, time.Now())
	for i := range added {
		added[i].Postponed = !slices.ContainsFunc(planned.Steps, func(left pipeline.Step) bool { return left.Op.Writes() && isSame(&left, &added[i].Step) })
	}
	if p.options.Until == v1alpha1.SyncReviewUntilDryRun {
		p.send(ctx, snapshot, planned, added)
	}
}

// send sends what is left of a plan in a dry run.
func (p *previewing) send(ctx context.Context, snapshot *pipeline.Snapshot, planned *pipeline.Plan, steps []PreviewedStep) {
	if !p.exists {
		planned.Steps = slices.DeleteFunc(planned.Steps, func(step pipeline.Step) bool { return needsParent(step.Op) })
	}
	outcomes := p.c.Actor.DryRun().Act(ctx, snapshot, planned)
	for i := range steps {
		step := &steps[i]
		at := slices.IndexFunc(outcomes, func(outcome pipeline.Outcome) bool { return isSame(&step.Step, &outcome.Step) })
		switch {
		case step.Postponed:
		case at >= 0:
			step.Outcome = &outcomes[at]
		case !p.exists && needsParent(step.Op):
			step.NotSent = "the parent does not exist"
		default:
			step.NotSent = "a step before it failed"
		}
	}
}

// needsParent reports whether a step can be tried only if the parent exists.
func needsParent(op pipeline.Op) bool {
	return op.OnParent() || op == pipeline.Adopt
}

// isSame reports whether two steps are about the same object, and the same part of it if that is the parent.
func isSame(a, b *pipeline.Step) bool {
	return a.Key() == b.Key() && a.Op.OnParent() == b.Op.OnParent() && (!a.Op.OnParent() || a.Op == b.Op)
}

// previewRevisions adds the writes of ControllerRevisions to the preview.
func (p *previewing) previewRevisions(ctx context.Context, snapshot *pipeline.Snapshot, writes []revisions.Write) error {
	if len(writes) == 0 {
		return nil
	}
	namespace := p.spec.Rollout.NamespaceOf(snapshot.Parent)
	if err := p.permit(ctx, shown{controllerRevisions, namespace, "its revisions"}); err != nil {
		return err
	}
	if err := p.c.mayWriteRevisions(ctx, snapshot, writes[0]); err != nil {
		return err
	}
	stored, err := p.revisionsOf(snapshot)
	if err != nil {
		return err
	}
	for _, write := range writes {
		previewed := PreviewedRevision{Write: write}
		if i := slices.IndexFunc(stored, func(before *revisions.Stored) bool { return before.Name == write.Revision.Name }); i >= 0 {
			previewed.Before = stored[i].ControllerRevision
		}
		if p.options.Until == v1alpha1.SyncReviewUntilDryRun && p.exists {
			previewed.Tried, previewed.Err = true, p.revisions.DryRun(ctx, write)
		}
		p.preview.Revisions = append(p.preview.Revisions, previewed)
		if previewed.Err != nil && !lacksNamespace(previewed.Err) {
			return previewed.Err
		}
	}
	return nil
}
