// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
)

// Actor carries out plans in the host.
type Actor struct {
	// Writer bounds the writes of the entire process.
	Writer *host.Writer
	// Parallel is the maximum number of concurrent writes of one sync.
	Parallel int
}

// For returns an actor whose writes count toward the controller's share of the bound. All of its requests are made as
// the account.
func (a *Actor) For(controller string, account host.Account) *Actor {
	return &Actor{Writer: a.Writer.For(controller).As(account), Parallel: a.Parallel}
}

// DryRun returns an actor that makes all requests as dry runs.
func (a *Actor) DryRun() *Actor { return &Actor{Writer: a.Writer.DryRun(), Parallel: a.Parallel} }

// Act takes the steps of a plan that write, and returns the outcome of each. If a step fails, Act still takes the
// others, with two exceptions: after a failed write of the parent it takes no further step, and after any failure the
// finalizer stays on the parent so that the controller can try again before the parent is deleted.
func (a *Actor) Act(ctx context.Context, snapshot *pipeline.Snapshot, plan *pipeline.Plan) []pipeline.Outcome {
	var outcomes []pipeline.Outcome
	for _, phase := range phasesOf(plan) {
		for _, steps := range inWaves(stepsOf(plan, phase)) {
			steps = afterPrerequisites(outcomes, steps)
			outcomes = append(outcomes, a.execute(ctx, snapshot, steps, lastOfParent(outcomes))...)
		}
	}
	return outcomes
}

// execute takes steps in parallel. Writes of the parent start from the given form of the parent, which an
// earlier write has returned; nil if there was none.
func (a *Actor) execute(
	ctx context.Context, snapshot *pipeline.Snapshot, steps []pipeline.Step, parent *object.Object,
) []pipeline.Outcome {
	if len(steps) == 0 {
		return nil
	}
	outcomes := make([]pipeline.Outcome, len(steps))
	mayAdopt := sync.OnceValue(func() error { return a.MayAdopt(ctx, snapshot) })
	slots := make(chan struct{}, a.Parallel)
	var group sync.WaitGroup
	for i, step := range steps {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			outcomes[i] = a.resolveNameConflict(ctx, snapshot, a.executeStep(ctx, step, parent, mayAdopt))
		})
	}
	group.Wait()
	return outcomes
}

// executeStep takes one step. A panic becomes the error of the outcome.
func (a *Actor) executeStep(
	ctx context.Context, step pipeline.Step, parent *object.Object, mayAdopt func() error,
) (outcome pipeline.Outcome) {
	logger := klog.FromContext(ctx)
	ctx, span := tracing.Start(ctx, "write")
	defer func() { traceOutcome(span, &outcome) }()
	defer func() {
		if panicked := recover(); panicked != nil {
			logger.Error(nil, "Panic in a step of a sync", "panic", panicked, "stack", string(debug.Stack()))
			outcome = pipeline.Outcome{Step: step, Err: describeError(step, fmt.Errorf("panic: %v", panicked))}
		}
	}()
	ctx, warnings := host.CollectWarnings(ctx)
	logger.V(4).Info("Taking step", "op", step.Op, "kind", step.Type.Kind,
		"object", klog.KRef(step.Namespace, step.Name), "why", step.Why)
	outcome = pipeline.Outcome{Step: step}
	if step.Op == pipeline.Adopt {
		if outcome.Err = mayAdopt(); outcome.Err != nil {
			return outcome
		}
	}
	var result *object.Object
	var err error
	if step.Op.OnParent() {
		result, err = a.writeParent(ctx, &outcome.Step, parent)
	} else {
		result, err = a.write(ctx, step)
	}
	outcome.Warnings = warnings.Texts()
	switch {
	case err == nil:
		outcome.Result = result
		if step.Op == pipeline.Recreate && result != nil {
			outcome.Op, outcome.Why = insteadOfRecreate(step, result)
		}
	case isNameConflict(step, err):
		outcome.NameConflict = true
	case isConflict(step, err):
		outcome.Conflict = true
		logger.V(4).Info("Object has changed since it was observed; the next sync decides again", "kind", step.Type.Kind,
			"object", klog.KRef(step.Namespace, step.Name), "err", err)
	default:
		outcome.Err = describeError(step, err)
	}
	return outcome
}

// traceOutcome ends the span of a step.
func traceOutcome(span tracing.Span, outcome *pipeline.Outcome) {
	defer span.End()
	if span.IsRecorded() {
		span.Set(tracing.Operation.String(string(outcome.Op)), tracing.Kind.String(outcome.Type.Kind),
			tracing.Namespace.String(outcome.Namespace), tracing.Name.String(outcome.Name),
			tracing.Why.String(outcome.Why), tracing.Conflict.Bool(outcome.Conflict || outcome.NameConflict))
		span.Fail(outcome.Err)
	}
}

// write sends the requests of a step. The result is nil if the host stored nothing.
func (a *Actor) write(ctx context.Context, step pipeline.Step) (*object.Object, error) {
	name := step.Key().NamespacedName
	switch step.Op {
	case pipeline.Create:
		return a.Writer.Create(ctx, step.Type, step.Namespace, step.Body)
	case pipeline.Update, pipeline.Metadata, pipeline.Finalizer:
		return a.Writer.Update(ctx, step.Type, name, step.Body)
	case pipeline.Adopt, pipeline.Release:
		return a.Writer.Patch(ctx, step.Type, name, step.Body)
	case pipeline.Apply:
		return a.Writer.Apply(ctx, step.Type, name, step.Body)
	case pipeline.ToServerSideApply, pipeline.ToDynamicApply:
		return a.moveEngine(ctx, step)
	case pipeline.Recreate:
		return a.recreate(ctx, step)
	case pipeline.Delete:
		return nil, a.delete(ctx, step)
	case pipeline.Status:
		return a.Writer.UpdateStatus(ctx, step.Type, name, step.Body)
	default:
		return nil, fmt.Errorf("unknown operation %q", step.Op)
	}
}

// MayAdopt returns an error unless the parent still exists and is not being deleted. It asks the host itself,
// because a cache may be stale and the host deletes a child whose owner is gone.
func (a *Actor) MayAdopt(ctx context.Context, snapshot *pipeline.Snapshot) error {
	parent := snapshot.Parent
	live, err := a.Writer.Get(ctx, snapshot.ParentType, parent.Key())
	switch {
	case err != nil:
		return fmt.Errorf("can't adopt children of %s: %w", parent, withMissingRule(err))
	case live.UID != parent.UID:
		return fmt.Errorf("can't adopt children of %s: it was replaced by another object of that name", parent)
	case live.DeletionTimestamp != nil:
		return fmt.Errorf("can't adopt children of %s: it is being deleted", parent)
	}
	return nil
}
