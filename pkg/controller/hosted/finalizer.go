// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// finalizerTimeout is how long the host may take to store a finalizer.
const finalizerTimeout = 10 * time.Second

// errConflict tells that the parent is no longer as it was observed. The next sync sees
// how it is.
var errConflict = errors.New("the parent changed meanwhile")

// finalizerPostponedError tells that somebody else undoes again and again what holds the parent or lets it
// go, and that it is done once more only after that time.
type finalizerPostponedError struct{ after time.Duration }

func (e *finalizerPostponedError) Error() string {
	return fmt.Sprintf("the finalizer of the parent is written too often, the next write waits %s", e.after)
}

// observeParent begins the snapshot of a parent, after the controller's finalizer has been put on
// it or taken off if that was due. Without a parent there is no snapshot.
func (c *Controller) observeParent(ctx context.Context, state *parentState, parent pipeline.Key) (*pipeline.Snapshot, error) {
	snapshot := c.observer.Parent(parent)
	if snapshot == nil {
		return nil, nil
	}
	step, err := plan.FinalizerStep(snapshot)
	if step == nil || err != nil {
		return snapshot, err
	}
	state.noOp = knownNoOp{}
	if err := c.postponeFinalizer(snapshot, step); err != nil {
		return nil, err
	}
	// Stopping the controller does not give up on this write: whoever then takes the
	// finalizer off all parents must be sure to see it.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalizerTimeout)
	defer cancel()
	outcomes := c.Actor.Act(writing, snapshot, &pipeline.Plan{Steps: []pipeline.Step{*step}})
	c.observer.Wrote(&state.pending, outcomes)
	c.guard.Wrote(snapshot, outcomes, time.Now())
	switch outcome := outcomes[0]; {
	case outcome.Err != nil:
		return nil, outcome.Err
	case outcome.Conflict:
		return nil, errConflict
	case isRemoved(outcome.Result):
		return nil, nil
	default:
		return c.observer.ParentAs(outcome.Result), nil
	}
}

// postponeFinalizer returns a *tooEarly if the step that holds the parent has to wait.
func (c *Controller) postponeFinalizer(snapshot *pipeline.Snapshot, step *pipeline.Step) error {
	now := time.Now()
	until, news := c.guard.PostponeStep(snapshot, step, now)
	c.reportWriteLoops(snapshot.Parent, news, now)
	if until.IsZero() {
		return nil
	}
	return &finalizerPostponedError{after: until.Sub(now)}
}

// isRemoved tells whether the host removes an object that it has stored so: it was only
// waiting for the finalizer.
func isRemoved(o *object.Object) bool {
	grace := o.DeletionGracePeriodSeconds
	return o.DeletionTimestamp != nil && len(o.Finalizers) == 0 && (grace == nil || *grace == 0)
}
