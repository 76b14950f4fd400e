// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/resolve"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// reconcile makes the controller of a name run with the spec of its object. If it is not done, the caller requeues the
// name. The error says why it failed. It is also done if only a change of the spec, of a Secret or of a right can
// repair the error, because that change enqueues the name.
func (r *Reconciler) reconcile(ctx context.Context, name string) (done bool, err error) {
	object, err := r.api.get(name)
	if apierrors.IsNotFound(err) {
		return resultOf(ctx, name, r.forget(ctx, name))
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read controller object", "kind", r.kind.Name, "controller", name)
		return false, err
	}
	state := r.states.of(name)
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
	object, err = r.finalizers.ensure(ctx, state, object, spec)
	if err != nil {
		return resultOf(ctx, name, err)
	}
	if state.runs(object, spec) && !state.lacksType {
		r.keepRunning(ctx, state, object, spec)
	} else if started, err := r.replace(ctx, state, object, spec); err != nil {
		return r.cannotRun(ctx, state, object, err), err
	} else if !started {
		return true, nil // the former controller still runs, so none of its finalizers is removed
	}
	if spec.Paused {
		return true, nil // the finalizers are removed after the pause
	}
	return resultOf(ctx, name, r.finalizers.removeFormer(ctx, state, object, spec))
}

// forget stops the controller whose object is gone, or no longer matches the label selector.
func (r *Reconciler) forget(ctx context.Context, name string) error {
	state := r.states.known(name)
	if state == nil {
		return nil
	}
	r.end(ctx, state)
	r.Calls.Forget(v1alpha1.ControllerReference{Kind: r.kind.Name, Name: name})
	if err := r.statuses.writeNotSelected(ctx, state); err != nil {
		return fmt.Errorf("write the status of a controller that is not selected: %w", err)
	}
	r.states.remove(name)
	return nil
}

// end stops everything that is done for a controller object.
func (r *Reconciler) end(ctx context.Context, state *controllerState) {
	state.endFollowing()
	state.endRequirement()
	r.dropPrepared(state)
	r.stop(ctx, state)
	r.finalizers.forget(state.name)
}

// keepRunning passes the controller that runs the changes that do not need a new controller.
func (r *Reconciler) keepRunning(
	ctx context.Context, state *controllerState, object controllerObject, spec *parentcontroller.Spec,
) {
	state.setProblem(object, nil)
	r.dropPrepared(state)
	controller := state.getRunning().controller
	controller.Leaving.Resume()
	controller.SetSchemas(spec.Schemas)
	controller.Recheck(ctx)
	state.endFollowing()
	controller.SetObject(spec.Object)
}

// cannotRun reports why the spec of an object cannot be run. The running controller continues, unless the host no
// longer has the types that it needs.
func (r *Reconciler) cannotRun(
	ctx context.Context, state *controllerState, object controllerObject, err error,
) (done bool) {
	if ctx.Err() != nil {
		return false // the process is ending, so the error says nothing about the spec
	}
	if running := state.getRunning(); running != nil {
		running.controller.Leaving.Resume()
		_, err := r.api.resolve(ctx, r.Discovery, running.object)
		if state.lacksType = parentcontroller.LacksType(err); lacksTypes(err) && !state.lacksType {
			r.stop(ctx, state)
		}
	}
	r.runWithoutType(ctx, state, object, err)
	err = r.Discovery.WithHint(ctx, err)
	problem := problemOf(err)
	if running := state.getRunning().generation(); running != object.GetGeneration() {
		problem.RunningGeneration = running
	}
	if state.setProblem(object, problem) {
		klog.FromContext(ctx).Error(err, "Failed to create controller", "controller", state.name)
		if missing, ok := errors.AsType[*resolve.NoStatusSubresourceError](err); ok {
			r.Events.NoStatusSubresource(object, object.GetName(), missing.Parent.GroupVersionKind().String())
		} else {
			r.Events.CreateError(object, err)
		}
	}
	following := r.followSource(ctx, state, err)
	return following || problem.Reason == v1alpha1.ReasonInvalidSpec || problem.Reason == v1alpha1.ReasonForbidden
}

// lacksTypes reports whether a spec cannot be run because the host lacks a type, or its status.
func lacksTypes(err error) bool {
	if err == nil {
		return false
	}
	reason := problemOf(err).Reason
	return reason == v1alpha1.ReasonUnknownType || reason == v1alpha1.ReasonNoStatus
}

// problemOf classifies why a spec cannot be run.
func problemOf(err error) *report.Problem {
	if refusal, ok := errors.AsType[*permissions.Error](err); ok {
		return report.RefusalProblem(refusal)
	}
	reason := v1alpha1.ReasonInvalidSpec
	if _, ok := errors.AsType[*discovery.UnknownTypeError](err); ok {
		reason = v1alpha1.ReasonUnknownType
	} else if _, ok := errors.AsType[*resolve.NoStatusSubresourceError](err); ok {
		reason = v1alpha1.ReasonNoStatus
	} else if _, ok := errors.AsType[*discovery.Error](err); ok {
		reason = v1alpha1.ReasonClusterUnreachable
	} else if _, ok := errors.AsType[*hook.SourceError](err); ok {
		reason = v1alpha1.ReasonCredentials
	}
	return &report.Problem{Reason: reason, Err: err}
}

// resultOf returns the result of a reconcile that ends with a write of the controller object or of its parents. A
// write is requeued, and has not failed, if it was in conflict, has to wait, or was cut short by the end of ctx. An
// incomplete removal from parents enqueues the name itself.
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

// reconcileDelete lets the controller of an object that is being deleted finalize the parents that are deleted with it,
// and stops it. Then it removes the controller's finalizer from all other parents, and the drain finalizer. After that,
// the API server removes the object.
func (r *Reconciler) reconcileDelete(ctx context.Context, state *controllerState, object controllerObject) error {
	state.endFollowing()
	r.dropPrepared(state)
	skips := object.GetAnnotations()[v1alpha1.SkipDrainAnnotation] == "true"
	if hasDrainFinalizer(object) && !skips && state.left != object.GetUID() {
		if wait, err := r.finalizeParents(ctx, state, object); wait != nil || err != nil {
			state.setDeleting(object, wait)
			return err
		}
	}
	state.left = object.GetUID()
	state.endRequirement()
	r.stop(ctx, state)
	state.setDeleting(object, nil)
	if !hasDrainFinalizer(object) {
		return nil
	}
	if skips {
		r.finalizers.forget(object.GetName())
	} else if err := r.finalizers.drainOnDelete(state, object); err != nil {
		state.setDeleting(object, nil)
		return err
	}
	return r.finalizers.removeOwn(ctx, object)
}

// finalizeParents returns what the controller of an object that is being deleted waits for before it stops; nil if for
// nothing. The name is enqueued to check that again. If no controller runs, one is started, because another process
// may have been about to finalize parents.
func (r *Reconciler) finalizeParents(
	ctx context.Context, state *controllerState, object controllerObject,
) (wait, err error) {
	r.stopIfRefused(ctx, state)
	spec, err := r.api.resolve(ctx, r.Discovery, object)
	if parentcontroller.LacksType(err) {
		spec, err = r.resolveWithoutTypes(ctx, object, err)
	}
	running := state.getRunning()
	runs := running != nil && running.object.GetUID() == object.GetUID()
	// A controller that runs finalizes the parents of its other types.
	if !runs && lacksTypes(err) || err == nil && (spec.Finalize == nil || spec.Paused) {
		return nil, nil
	}
	deleted := object.GetDeletionTimestamp().Time
	if !runs {
		known := false
		if err == nil {
			known, err = r.startLeaving(ctx, state, object, spec)
		}
		switch {
		case err != nil && mayRunSoon(err, state.seenSince(), time.Now()):
			return errWaitsForHook, err
		case err != nil:
			klog.FromContext(ctx).Error(err, "A controller that is being deleted cannot call its finalize hook",
				"controller", state.name)
			return nil, nil
		case !known:
			return errWaitsForHook, nil
		}
	}
	leaving := state.getRunning().controller.Leaving
	if wait = deletionWait(leaving.Begin(), deleted, time.Now()); wait != nil {
		leaving.Resume()
	} else if !leaving.End() {
		wait = errWaitsForHook
	}
	if wait != nil {
		recheck := deletionRecheck
		if time.Since(deleted) > deletionGrace {
			recheck = deletionSlowRecheck
		}
		r.queue.AddAfter(state.name, recheck)
	}
	return wait, nil
}

// startLeaving starts a controller that only finalizes. known is false if the cluster has not answered yet whether its
// service account may read the objects that it needs: the name is enqueued when it has.
func (r *Reconciler) startLeaving(
	ctx context.Context, state *controllerState, object controllerObject, spec *parentcontroller.Spec,
) (known bool, err error) {
	if known, err = r.checkReads(ctx, state, spec); err != nil || !known {
		return known, err
	}
	next, err := r.build(withController(ctx, state.name), object, spec)
	if err != nil {
		return true, err
	}
	next.Leaving.Begin()
	r.stop(ctx, state) // that of an earlier object of the same name
	r.start(ctx, state, object, spec, next)
	return true, nil
}

// While controllers are held, nothing runs for any controller object: no hook is called, and no parent or child is
// written. No finalizer is removed either, so an object that is being deleted waits if it has the drain finalizer.
// The status of each object says that it is held only after its controller has stopped, so users can read there when
// all have stopped.

// held returns why no controller may run; nil if they may.
func (r *Reconciler) held() error {
	if r.Held == nil {
		return nil
	}
	return r.Held()
}

// hold stops the controller of an object, and reports that it is held.
func (r *Reconciler) hold(ctx context.Context, state *controllerState, object controllerObject, held error) {
	r.end(ctx, state)
	state.setProblem(object, &report.Problem{Reason: v1alpha1.ReasonHeld, Err: held})
}
