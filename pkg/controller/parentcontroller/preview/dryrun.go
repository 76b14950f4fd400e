// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"slices"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// withFinalizer returns the snapshot as it is after the write of the controller's finalizer, if that is due. It is
// nil if no parent is left then, or if the write is postponed.
func (r *run) withFinalizer(ctx context.Context, snapshot *pipeline.Snapshot) (*pipeline.Snapshot, error) {
	step, err := plan.FinalizerStep(snapshot)
	if step == nil || err != nil {
		return snapshot, err
	}
	planned := &pipeline.Plan{Steps: []pipeline.Step{*step}}
	now := time.Now()
	if until, _ := r.of.Guard.Fork(snapshot, planned).PostponeStep(snapshot, step, now); !until.IsZero() {
		r.preview.Steps = append(r.preview.Steps, Step{Step: *step, Postponed: true})
		r.preview.Planned = true
		return nil, nil
	}
	r.try(ctx, snapshot, planned)
	if failure := r.preview.Steps[0].Outcome; failure != nil && failure.Err != nil {
		return nil, failure.Err
	}
	after, err := object.Parse(step.Body)
	if err != nil {
		return nil, err
	}
	if snapshot.Outside || after.IsRemoved() {
		r.preview.Planned = true
		return nil, nil
	}
	return r.planner.Observer.ParentAs(after), nil
}

// planAndTry follows planAndAct of the package parentcontroller. It writes nothing but dry runs.
func (r *run) planAndTry(
	ctx context.Context, state *planner.State, snapshot *pipeline.Snapshot, responses *planner.Responses,
) error {
	decision, err := r.planner.Decide(state, snapshot, responses, time.Now())
	if err != nil {
		return err
	}
	r.preview.Answer = decision.Response
	if responses.Rollout != nil {
		r.preview.Rollout = &Rollout{Updated: decision.Updated, Moved: decision.Moved, Behind: decision.Behind}
	}
	if err := r.previewRevisions(ctx, snapshot, decision.Writes); err != nil {
		return err
	}
	planned, err := r.planner.Plan(ctx, state, snapshot, decision.Response)
	if err != nil {
		return err
	}
	r.preview.Planned = true
	r.preview.Warnings, r.preview.Refused = status.FindingsOf(decision.Response, planned), planned.Refused
	if err := r.mayWrite(ctx, planned); err != nil {
		return err
	}
	r.try(ctx, snapshot, planned)
	return r.permit(ctx, stepsOf(r.preview.Steps)...)
}

// try adds the steps of a plan to the preview, except those that keep a child. It sends the steps that the guard
// against write loops does not postpone in a dry run, if the preview includes the dry run.
func (r *run) try(ctx context.Context, snapshot *pipeline.Snapshot, planned *pipeline.Plan) {
	first := len(r.preview.Steps)
	for _, step := range act.InOrder(planned) {
		r.preview.Steps = append(r.preview.Steps, Step{Step: step})
	}
	added := r.preview.Steps[first:]
	r.of.Guard.Fork(snapshot, planned).Postpone(snapshot, planned, time.Now())
	for i := range added {
		added[i].Postponed = !slices.ContainsFunc(planned.Steps,
			func(left pipeline.Step) bool { return left.Op.Writes() && isSame(&left, &added[i].Step) })
	}
	if r.options.Until == v1alpha1.SyncReviewUntilDryRun {
		r.send(ctx, snapshot, planned, added)
	}
}

// send sends the remaining writes of a plan in a dry run.
func (r *run) send(ctx context.Context, snapshot *pipeline.Snapshot, planned *pipeline.Plan, steps []Step) {
	if !r.exists {
		planned.Steps = slices.DeleteFunc(planned.Steps, func(step pipeline.Step) bool { return needsParent(step.Op) })
	}
	outcomes := r.of.Actor.DryRun().Act(ctx, snapshot, planned)
	for i := range steps {
		step := &steps[i]
		at := slices.IndexFunc(outcomes, func(outcome pipeline.Outcome) bool { return isSame(&step.Step, &outcome.Step) })
		switch {
		case step.Postponed:
		case at >= 0:
			step.Outcome = &outcomes[at]
		case !r.exists && needsParent(step.Op):
			step.NotSent = "the parent does not exist"
		default:
			step.NotSent = "an earlier step failed"
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
func (r *run) previewRevisions(ctx context.Context, snapshot *pipeline.Snapshot, writes []revisions.Write) error {
	if len(writes) == 0 {
		return nil
	}
	namespace := r.planner.Rollout.NamespaceOf(snapshot.Parent)
	if err := r.permit(ctx, shown{controllerRevisions, namespace, "its revisions"}); err != nil {
		return err
	}
	if err := r.of.MayWriteRevisions(ctx, snapshot, writes[0]); err != nil {
		return err
	}
	stored, err := r.planner.RevisionsOf(snapshot)
	if err != nil {
		return err
	}
	for _, write := range writes {
		previewed := Revision{Write: write}
		if i := slices.IndexFunc(stored, func(before *revisions.Stored) bool { return before.Name == write.Revision.Name }); i >= 0 {
			previewed.Before = stored[i].ControllerRevision
		}
		if r.options.Until == v1alpha1.SyncReviewUntilDryRun && r.exists {
			previewed.Tried, previewed.Err = true, r.planner.Revisions.DryRun(ctx, write)
		}
		r.preview.Revisions = append(r.preview.Revisions, previewed)
		if previewed.Err != nil && !planner.LacksNamespace(previewed.Err) {
			return previewed.Err
		}
	}
	return nil
}
