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

// holdTimeout is how long the host may take to store a finalizer.
const holdTimeout = 10 * time.Second

// errOvertaken tells that the parent is no longer as it was observed. The next sync sees
// how it is.
var errOvertaken = errors.New("the parent changed meanwhile")

// tooEarly tells that somebody else undoes again and again what holds the parent or lets it
// go, and that it is done once more only after that time.
type tooEarly struct{ after time.Duration }

func (e *tooEarly) Error() string {
	return fmt.Sprintf("the finalizer of the parent is written too often, the next write waits %s", e.after)
}

// hold begins the snapshot of a parent, after the controller's finalizer has been put on
// it or taken off if that was due. Without a parent there is no snapshot.
func (c *Controller) hold(ctx context.Context, memory *memory, parent pipeline.Key) (*pipeline.Snapshot, error) {
	snapshot := c.observer.Parent(parent)
	if snapshot == nil {
		return nil, nil
	}
	step, err := plan.FinalizerStep(snapshot)
	if step == nil || err != nil {
		return snapshot, err
	}
	memory.rest = resting{}
	if err := c.mayHold(snapshot, step); err != nil {
		return nil, err
	}
	// Stopping the controller does not give up on this write: whoever then takes the
	// finalizer off all parents must be sure to see it.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
	defer cancel()
	outcomes := c.Actor.Act(writing, snapshot, &pipeline.Plan{Steps: []pipeline.Step{*step}})
	c.observer.Wrote(&memory.pending, outcomes)
	c.guard.Wrote(snapshot, outcomes, time.Now())
	switch outcome := outcomes[0]; {
	case outcome.Err != nil:
		return nil, outcome.Err
	case outcome.Conflict:
		return nil, errOvertaken
	case isGone(outcome.Result):
		return nil, nil
	default:
		return c.observer.ParentAs(outcome.Result), nil
	}
}

// mayHold returns a *tooEarly if the step that holds the parent has to wait.
func (c *Controller) mayHold(snapshot *pipeline.Snapshot, step *pipeline.Step) error {
	now := time.Now()
	until, news := c.guard.PostponeStep(snapshot, step, now)
	c.tellLoops(snapshot.Parent, news, now)
	if until.IsZero() {
		return nil
	}
	return &tooEarly{after: until.Sub(now)}
}

// isGone tells whether the host removes an object that it has stored so: it was only
// waiting for the finalizer.
func isGone(o *object.Object) bool {
	grace := o.DeletionGracePeriodSeconds
	return o.DeletionTimestamp != nil && len(o.Finalizers) == 0 && (grace == nil || *grace == 0)
}
