// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/composite"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// reconcile makes the controller of a name run as the spec of its object says. If it is not done, the name is
// requeued. The error says why it failed. With an error that only a change of the spec, of a Secret or of a right can
// mend, it is done too: that change enqueues the name.
func (r *Reconciler) reconcile(ctx context.Context, name string) (done bool, err error) {
	object, err := r.api.get(name)
	if apierrors.IsNotFound(err) {
		return resultOf(ctx, name, r.forget(ctx, name))
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read controller object", "kind", r.kind.Name, "controller", name)
		return false, err
	}
	state := r.state(name)
	state.see(object, time.Now())
	state.leftovers.see(object)
	if held := r.held(); held != nil {
		r.hold(ctx, state, object, held)
		return true, nil
	}
	if object.GetDeletionTimestamp() != nil {
		return resultOf(ctx, name, r.reconcileDelete(ctx, state, object))
	}
	r.stopIfRefused(ctx, state)
	if next := state.getPrepared(); next != nil && !equalSpecs(next.object, object) {
		r.dropPrepared(state)
	}
	spec, err := r.api.resolve(ctx, r.Discovery, object)
	if err != nil {
		return r.cannotRun(ctx, state, object, err), err
	}
	if known, err := r.checkReads(ctx, state, spec); err != nil {
		return r.cannotRun(ctx, state, object, err), err
	} else if !known {
		return true, nil
	}
	r.recheckSchemas(ctx, spec)
	object, err = r.ensureDrainFinalizer(ctx, state, object, spec)
	if err != nil {
		return resultOf(ctx, name, err)
	}
	if state.runs(object, spec) && !state.lacksChild {
		r.keepRunning(ctx, state, object, spec)
	} else if started, err := r.replace(ctx, state, object, spec); err != nil {
		return r.cannotRun(ctx, state, object, err), err
	} else if !started {
		return true, nil // and no finalizer of the one that runs is removed
	}
	if spec.Paused {
		return true, nil // the next spec has the finalizers removed
	}
	return resultOf(ctx, name, r.removeFormerFinalizers(ctx, state, object, spec))
}

// state returns the state of a name, a new one if there is none.
func (r *Reconciler) state(name string) *controllerState {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.states[name]
	if state != nil {
		return state
	}
	state = &controllerState{name: name, accountRequired: r.RequireServiceAccount}
	r.states[name] = state
	return state
}

// allStates returns all states.
func (r *Reconciler) allStates() []*controllerState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.states))
}

// runningNamed returns what runs for a name; nil if nothing does.
func (r *Reconciler) runningNamed(name string) *running {
	r.mu.Lock()
	state := r.states[name]
	r.mu.Unlock()
	if state == nil {
		return nil
	}
	return state.getRunning()
}

// forget stops the controller whose object is gone, or is no longer selected by the label selector.
func (r *Reconciler) forget(ctx context.Context, name string) error {
	r.mu.Lock()
	state := r.states[name]
	r.mu.Unlock()
	if state == nil {
		return nil
	}
	r.end(ctx, state)
	r.Calls.Forget(v1alpha1.ControllerReference{Kind: r.kind.Name, Name: name})
	if err := r.writeNotSelected(ctx, state); err != nil {
		return fmt.Errorf("write that it is not selected: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, name)
	return nil
}

// end ends everything that is done for a controller object.
func (r *Reconciler) end(ctx context.Context, state *controllerState) {
	state.endFollowing()
	state.endRequirement()
	r.dropPrepared(state)
	r.stop(ctx, state)
	r.drainer.Forget(r.kind.Finalizer(state.name))
}

// keepRunning updates the controller that runs with what does not need a new one.
func (r *Reconciler) keepRunning(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec) {
	state.setProblem(object, nil)
	r.dropPrepared(state)
	controller := state.getRunning().controller
	controller.SetSchemas(spec.Schemas)
	controller.Recheck(ctx)
	state.endFollowing()
	controller.SetObject(spec.Object)
}

// cannotRun reports why the spec of an object cannot be run. The controller that runs goes on,
// unless the host no longer has the types that it needs.
func (r *Reconciler) cannotRun(ctx context.Context, state *controllerState, object controllerObject, err error) (done bool) {
	if ctx.Err() != nil {
		return false // the process ends, so the error says nothing about the spec
	}
	if running := state.getRunning(); running != nil {
		_, err := r.api.resolve(ctx, r.Discovery, running.object)
		if state.lacksChild = hosted.LacksChild(err); lacksTypes(err) && !state.lacksChild {
			r.stop(ctx, state)
		}
	}
	r.runWithoutChild(ctx, state, object, err)
	err = r.Discovery.WithSuggestion(ctx, err)
	problem := problemOf(err)
	if running := state.getRunning().generation(); running != object.GetGeneration() {
		problem.RunningGeneration = running
	}
	if state.setProblem(object, problem) {
		klog.FromContext(ctx).Error(err, "Failed to create controller", "controller", state.name)
		if missing, ok := errors.AsType[*composite.NoStatusSubresourceError](err); ok {
			r.Events.NoStatusSubresource(object, object.GetName(), missing.Parent.GroupVersionKind().String())
		} else {
			r.Events.CreateError(object, err)
		}
	}
	following := r.followSource(ctx, state, err)
	return following || problem.Reason == report.ReasonInvalidSpec || problem.Reason == report.ReasonForbidden
}

// lacksTypes reports whether a spec cannot be run because the host lacks a type, or its status.
func lacksTypes(err error) bool {
	if err == nil {
		return false
	}
	reason := problemOf(err).Reason
	return reason == report.ReasonUnknownType || reason == report.ReasonNoStatus
}

// problemOf classifies why a spec cannot be run.
func problemOf(err error) *report.Problem {
	if refusal, ok := errors.AsType[*permissions.Error](err); ok {
		return report.RefusalProblem(refusal)
	}
	reason := report.ReasonInvalidSpec
	if _, ok := errors.AsType[*discovery.UnknownTypeError](err); ok {
		reason = report.ReasonUnknownType
	} else if _, ok := errors.AsType[*composite.NoStatusSubresourceError](err); ok {
		reason = report.ReasonNoStatus
	} else if _, ok := errors.AsType[*discovery.Error](err); ok {
		reason = report.ReasonClusterUnreachable
	} else if _, ok := errors.AsType[*hook.SourceError](err); ok {
		reason = report.ReasonCredentials
	}
	return &report.Problem{Reason: reason, Err: err}
}

// resultOf returns the result of a reconcile that ends with a write of the controller object or of
// its parents. A write that was in conflict, that has to wait or that the end of ctx cut short is no failure and is
// requeued. A removal from parents that is not complete enqueues the name itself.
func resultOf(ctx context.Context, name string, err error) (done bool, failure error) {
	if err == nil {
		return true, nil
	}
	waits, ok := errors.AsType[*waitsForDrain](err)
	switch {
	case ok && waits.failure == nil:
		return true, nil
	case !ok && (apierrors.IsConflict(err) || apierrors.IsNotFound(err) || errors.Is(err, errSpecIsNew)), ctx.Err() != nil:
		return false, nil
	}
	klog.FromContext(ctx).Error(err, "Failed to write the controller object, or the finalizers of its parents",
		"controller", name)
	return ok, err
}
