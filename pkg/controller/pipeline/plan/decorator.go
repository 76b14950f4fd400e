// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Decorator plans the sync of a DecoratorController's target and of its attachments. The target is
// written first. Nothing is selected or released, and no orphan is adopted. It puts what needs no write into
// upToDate.
func Decorator(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies Strategies, upToDate *UpToDateCache) (*pipeline.Plan, error) {
	plan := &pipeline.Plan{ParentFirst: true, Desired: len(response.Children)}
	parent := newParent(snapshot, "spec.attachments")
	for _, group := range snapshot.Children {
		if err := parent.claim(plan, group, response.Children); err != nil {
			return nil, err
		}
	}
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
	parent.leaveTerminating(plan)
	parent.warn(plan, upToDate, c.duplicates, response.Children)
	sayAllAreDeleted(plan, snapshot, response, "attachments")
	return plan, nil
}

// finalizesTarget reports whether the finalizer is removed from the target. A target that is not
// being deleted keeps it as long as attachments are refused: nothing would bring the controller back
// to them.
func finalizesTarget(snapshot *pipeline.Snapshot, response *pipeline.Response, plan *pipeline.Plan) bool {
	return isFinalized(snapshot, response) && (snapshot.Parent.DeletionTimestamp != nil || len(plan.Refused) == 0)
}

// target plans what becomes of a decorator's target.
type target struct {
	*parent
	upToDate *UpToDateCache
	// finalized is true if the finalizer is removed from the target.
	finalized bool
}

// steps returns the writes that make the target what the hook answered: at most one of the status
// subresource, if there is one, and one of the object.
func (t *target) steps(snapshot *pipeline.Snapshot, response *pipeline.Response) ([]pipeline.Step, error) {
	status, err := t.statusAnswered(response)
	if err != nil {
		return nil, err
	}
	var steps []pipeline.Step
	if status != nil && t.parentType.StatusSubresource {
		steps, status = append(steps, *status), nil
	}
	change := metadataChangeOf(t.Object, response)
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
	write, err := t.write(snapshot, response, change, status)
	if err != nil {
		return nil, err
	}
	write.Desired = desired
	return append(steps, *write), nil
}

// statusAnswered returns the step that gives the target the status that the hook answered; nil if
// the target has this status or the hook answered none.
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

// write returns the step that updates the target: with the change, with the status if that is not
// nil, and without the finalizer if the target is finalized.
//
// A target that is not being deleted loses the finalizer after its attachments are written, so that
// none is left behind that could not be deleted. A target that is being deleted loses it at once:
// the host deletes the attachments with it, and in a namespace that is being deleted some writes
// can no longer succeed.
func (t *target) write(snapshot *pipeline.Snapshot, response *pipeline.Response, change metadataChange, status *pipeline.Step) (*pipeline.Step, error) {
	step := &pipeline.Step{
		Op: pipeline.Metadata, Type: t.parentType, Observed: t.Object, Namespace: t.Namespace, Name: t.Name, Path: change.path(),
		Rebase: func(current *object.Object) ([]byte, error) { return t.body(current, snapshot, response, status) },
	}
	if status != nil {
		step.Path = status.Path
	}
	step.Why = "it differs at " + step.Path
	if t.finalized {
		step.Why, step.RemovesFinalizer = whyFinalized, t.DeletionTimestamp != nil
		if !step.RemovesFinalizer {
			step.Op = pipeline.Finalizer
		}
	}
	var err error
	step.Body, err = step.Rebase(t.Object)
	return step, err
}

// body returns the JSON that write sends if the target is by now current; nil if nothing has to
// change there.
func (t *target) body(current *object.Object, snapshot *pipeline.Snapshot, response *pipeline.Response, status *pipeline.Step) ([]byte, error) {
	var body []byte
	var err error
	if status != nil {
		if body, err = status.Rebase(current); err != nil {
			return nil, err
		}
	}
	change, finalizers := metadataChangeOf(current, response), current.Finalizers
	if t.finalized {
		finalizers = without(finalizers, snapshot.Finalizer)
	}
	if body == nil && change.isNone() && len(finalizers) == len(current.Finalizers) {
		return nil, nil
	}
	if body == nil {
		if body, err = withoutNullStatus(current); err != nil {
			return nil, err
		}
	}
	metadata, err := change.apply(current.Lookup("metadata"))
	if err != nil {
		return nil, err
	}
	if t.finalized {
		if metadata, err = withFinalizers(metadata, finalizers); err != nil {
			return nil, err
		}
	}
	return object.WithMember(body, "metadata", metadata)
}

// withoutNullStatus returns the JSON of a target without a status that is null. Metacontroller may
// have left one, and many types do not allow it.
func withoutNullStatus(target *object.Object) ([]byte, error) {
	if string(target.Lookup("status")) != "null" {
		return target.JSON(), nil
	}
	return object.WithMember(target.JSON(), "status", nil)
}
