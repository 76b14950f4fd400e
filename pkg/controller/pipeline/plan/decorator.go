// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Decorator plans the sync of a DecoratorController's target: what becomes of it, which is
// written first, and of its attachments. Nothing is selected, adopted or released. What it
// finds to need no write it remembers in settled.
func Decorator(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies Strategies, upToDate *UpToDateCache) (*pipeline.Plan, error) {
	plan := &pipeline.Plan{ParentFirst: true}
	parent := newParent(snapshot, "spec.attachments")
	c := children{parent: parent, strategies: strategies, upToDate: upToDate, plan: plan, strict: response.Strict}
	if err := c.manage(snapshot, response.Children); err != nil {
		plan.Refused = append(plan.Refused, err)
		return plan, nil
	}
	t := target{parent: parent, upToDate: upToDate, finalized: finalizesTarget(snapshot, response, plan)}
	steps, err := t.steps(snapshot, response)
	if err != nil {
		return nil, err
	}
	plan.Steps = append(steps, plan.Steps...)
	return plan, nil
}

// WithoutRollout is what a method does where there are no rollouts, and to a child whose turn
// it is where there are: RollingRecreate is Recreate, and RollingInPlace is InPlace.
func (m Method) WithoutRollout() Method { return Method(strings.TrimPrefix(string(m), "Rolling")) }

// finalizesTarget tells whether the target loses the controller's finalizer. One that stays does
// not as long as there are attachments that cannot be had: nobody would come back to them.
func finalizesTarget(snapshot *pipeline.Snapshot, response *pipeline.Response, plan *pipeline.Plan) bool {
	released := snapshot.Finalizing && response.Finalized && hasFinalizer(snapshot)
	return released && (snapshot.Parent.DeletionTimestamp != nil || len(plan.Refused) == 0)
}

// target plans what becomes of a decorator's target.
type target struct {
	*parent
	upToDate  *UpToDateCache
	finalized bool
}

// steps are the writes that make the target what the hook answered: one of the object,
// unless nothing else than its status changes, and one of a status that has a
// subresource.
func (t *target) steps(snapshot *pipeline.Snapshot, response *pipeline.Response) ([]pipeline.Step, error) {
	status, err := t.statusAnswered(response)
	if err != nil {
		return nil, err
	}
	var steps []pipeline.Step
	if status != nil && t.parentType.StatusSubresource {
		steps, status = append(steps, *status), nil
	}
	change := t.metadataChange(response)
	differs := status != nil || !change.isNone()
	if !differs && !t.finalized {
		return steps, nil
	}
	desired, err := hashDesiredTarget(response, status)
	if err != nil {
		return nil, err
	}
	if !t.finalized && t.upToDate.isTargetUpToDate(t.UID, desired, hashTarget(t.parentType, t.Object)) {
		return steps, nil
	}
	write, err := t.write(snapshot, change, status)
	if err != nil {
		return nil, err
	}
	write.Desired = desired
	return append(steps, *write), nil
}

// statusAnswered is the step that gives the target the status that the hook answered;
// nil if it has it or there was none.
func (t *target) statusAnswered(response *pipeline.Response) (*pipeline.Step, error) {
	desired, err := decodeStatus(response.Status)
	if err != nil {
		return nil, fmt.Errorf("status of %s: %w", t, err)
	}
	if desired == nil {
		return nil, nil
	}
	return t.statusStep(desired, t.upToDate)
}

// write is the step that replaces the target: with the change, with the status that is
// to go along, nil for none, and without the finalizer if the target is let go.
//
// A target that stays is let go of after its attachments, so that none is left behind
// that could not be deleted. One that is being deleted takes them with it, and does not
// wait for what cannot be done any more, as in a namespace that goes.
func (t *target) write(snapshot *pipeline.Snapshot, change metadataChange, status *pipeline.Step) (*pipeline.Step, error) {
	step := &pipeline.Step{
		Op: pipeline.Metadata, Type: t.parentType, Observed: t.Object, Namespace: t.Namespace, Name: t.Name, Path: change.path(),
	}
	body, err := t.withoutNullStatus()
	if status != nil {
		body, step.Path = status.Body, status.Path
	}
	if err != nil {
		return nil, err
	}
	step.Why = "it differs at " + step.Path
	metadata, err := change.apply(t.Lookup("metadata"))
	if err != nil {
		return nil, err
	}
	if t.finalized {
		step.Why, step.RemovesFinalizer = whyFinalized, t.DeletionTimestamp != nil
		if !step.RemovesFinalizer {
			step.Op = pipeline.Finalizer
		}
		if metadata, err = withFinalizers(metadata, without(t.Finalizers, snapshot.Finalizer)); err != nil {
			return nil, err
		}
	}
	step.Body, err = object.WithMember(body, "metadata", metadata)
	return step, err
}

// withoutNullStatus is the target's JSON without a status that is null, which
// Metacontroller may have left there and many types do not allow.
func (t *target) withoutNullStatus() ([]byte, error) {
	if string(t.Lookup("status")) != "null" {
		return t.JSON(), nil
	}
	return object.WithMember(t.JSON(), "status", nil)
}
