// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// finalizerTimeout limits how long the host may take to store a finalizer.
const finalizerTimeout = 10 * time.Second

// finalizerPostponedError is returned for a sync that has to add or remove the finalizer of the
// parent but must wait, because another client undoes that again and again.
type finalizerPostponedError struct{ after time.Duration }

func (e *finalizerPostponedError) Error() string {
	return fmt.Sprintf("the finalizer of the parent is written too often, the next write waits %s", e.after)
}

// observeParent begins the snapshot of a parent. Before, it puts the controller's finalizer on the
// parent or removes it, if that is due. The snapshot is nil if there is no parent, or none in the
// controller's namespaces any more.
func (c *Controller) observeParent(ctx context.Context, state *parentState, parent object.Key) (*pipeline.Snapshot, error) {
	snapshot := c.planner.Observer.Parent(parent)
	if snapshot == nil {
		return nil, nil
	}
	step, err := plan.FinalizerStep(snapshot)
	if step == nil || err != nil {
		return snapshot, err
	}
	state.planning.NoOp = planner.NoOp{}
	if err := c.postponeFinalizer(snapshot, step); err != nil {
		return nil, err
	}
	// This write goes on when the controller is stopped: it must be complete before the finalizer
	// is removed from all parents.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalizerTimeout)
	defer cancel()
	outcomes := c.Actor.Act(writing, snapshot, &pipeline.Plan{Steps: []pipeline.Step{*step}})
	c.planner.Observer.Wrote(&state.pending, outcomes)
	c.guard.Wrote(snapshot, outcomes, time.Now())
	state.finalizerSteps = outcomes
	switch outcome := outcomes[0]; {
	case outcome.Err != nil:
		return nil, outcome.Err
	case outcome.Conflict:
		return nil, overtaken(&outcome)
	case outcome.Result != nil && !snapshot.NeedsFinalizer:
		c.Events.FinalizerRemoved(snapshot.Parent, snapshot.Finalizer, pipeline.UnfinalizedReason(step.Why))
	}
	if latest := outcomes[0].Latest(); !snapshot.Outside && !latest.IsRemoved() {
		return c.planner.Observer.ParentAs(latest), nil
	}
	return nil, nil
}

// maxLetGoEvents bounds the events about one change. More at once would displace those of others.
const maxLetGoEvents = 100

// ReportLetGo writes events about parents of the former controller. They are parents that this
// controller does not handle. Those with the finalizer are left out: there are events when it is
// removed.
func (c *Controller) ReportLetGo(ctx context.Context, former *Controller, name string) {
	count := 0
	for _, parent := range former.planner.Observer.Parents() {
		if c.planner.Observer.Handles(parent) || slices.Contains(parent.Finalizers, former.planner.Observer.Finalizer) {
			continue
		}
		if count++; count <= maxLetGoEvents {
			c.Events.NoLongerSelected(parent, name)
		}
	}
	if count > maxLetGoEvents {
		klog.FromContext(ctx).Info("Only some parents that are no longer selected have an event", "controller", name, "parents", count, "events", maxLetGoEvents)
	}
}

// postponeFinalizer returns a *finalizerPostponedError if the step must wait. It writes the event
// about the write loop, if one is due.
func (c *Controller) postponeFinalizer(snapshot *pipeline.Snapshot, step *pipeline.Step) error {
	now := time.Now()
	until, loops := c.guard.PostponeStep(snapshot, step, now)
	c.reporter.WriteLoops(snapshot.Parent, loops, now)
	if until.IsZero() {
		return nil
	}
	return &finalizerPostponedError{after: until.Sub(now)}
}
