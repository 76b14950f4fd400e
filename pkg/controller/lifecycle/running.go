// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
)

// running is a controller that runs, and the inputs that it was created from. It does not change.
type running struct {
	controller *parentcontroller.Controller
	object     controllerObject
	spec       *parentcontroller.Spec
	since      time.Time
	// required are the permissions to read that the controller needs; nil if it does not act as a service account.
	required *permissions.Requirement
	// stop stops the controller, and waits until it has stopped.
	stop func()
}

// generation returns the generation of the spec that runs; zero if nothing does.
func (r *running) generation() int64 {
	if r == nil {
		return 0
	}
	return r.object.GetGeneration()
}

// hasTried reports whether a sync of a parent has ended, or there is none to sync.
func (r *running) hasTried() bool {
	health := r.controller.Health()
	return !health.IsUntried()
}

// prepared is a controller that will replace the one that runs as soon as it sees all objects of its types. It does not
// change.
type prepared struct {
	controller *parentcontroller.Controller
	object     controllerObject
	spec       *parentcontroller.Spec
	since      time.Time
	// stopWaiting ends the wait for its caches.
	stopWaiting func()
}

// replace starts a controller with the spec of the object, and stops the one that runs, if any. The old one runs
// until the new one sees all objects of its types, and until running calls of a finalize hook that the new one does not
// repeat have ended. It continues if the new one cannot be made. replace does not wait: it returns started as false,
// and the name is enqueued when the new one is ready. The informers that both
// controllers use keep running: the new one acquires them before the old one stops, or finds them lingering.
func (r *Reconciler) replace(
	ctx context.Context, state *controllerState, object controllerObject, spec *parentcontroller.Spec,
) (started bool, err error) {
	next := state.getPrepared()
	if next == nil || !next.spec.SameTypes(spec) {
		if next, err = r.prepare(ctx, state, object, spec); err != nil {
			return false, err
		}
	}
	next.controller.SetSchemas(spec.Schemas)
	next.controller.SetObject(spec.Object)
	running := state.getRunning()
	if running != nil && !next.controller.IsFilled() {
		state.setProblem(object, nil)
		running.controller.Leaving.Resume()
		running.controller.Recheck(ctx)
		return false, nil
	}
	if running != nil && running.completesCalls(spec, state.seenSince()) {
		state.setProblem(object, nil)
		r.queue.AddAfter(state.name, deletionRecheck)
		return false, nil
	}
	next.stopWaiting()
	state.setPrepared(nil)
	if running != nil {
		next.controller.ReportLetGo(ctx, running.controller, object.GetName())
	}
	r.stop(ctx, state)
	state.lacksType = false
	r.start(ctx, state, object, next.spec, next.controller)
	return true, nil
}

// prepare creates a controller, in place of the one that was prepared before. It enqueues the name when the controller
// sees all objects of its types.
func (r *Reconciler) prepare(
	ctx context.Context, state *controllerState, object controllerObject, spec *parentcontroller.Spec,
) (*prepared, error) {
	r.dropPrepared(state)
	controller, err := r.build(withController(ctx, state.name), object, spec)
	if err != nil {
		return nil, err
	}
	state.endFollowing()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	next := &prepared{controller: controller, object: object, spec: spec, since: time.Now(), stopWaiting: func() {
		cancel()
		<-done
	}}
	go func() {
		defer close(done)
		if controller.WaitForCaches(ctx) == nil {
			r.queue.Add(state.name)
		}
	}()
	state.setPrepared(next)
	return next, nil
}

// dropPrepared drops the controller that was to replace the one that runs, if any.
func (r *Reconciler) dropPrepared(state *controllerState) {
	if next := state.getPrepared(); next != nil {
		state.setPrepared(nil)
		next.stopWaiting()
		next.controller.Close()
	}
}

// build creates a controller that is ready to run.
func (r *Reconciler) build(
	ctx context.Context, object controllerObject, spec *parentcontroller.Spec,
) (*parentcontroller.Controller, error) {
	next, err := parentcontroller.New(r.Dependencies, spec)
	if err != nil {
		return nil, err
	}
	ctx, cancel := withReadTimeout(ctx)
	defer cancel()
	if err := next.Connect(ctx, object); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// start starts a controller. Until then, nothing has put its finalizer on parents. From then on, only the controller
// removes it from them.
func (r *Reconciler) start(
	ctx context.Context, state *controllerState, object controllerObject, spec *parentcontroller.Spec,
	next *parentcontroller.Controller,
) {
	r.finalizers.forget(object.GetName())
	logger := klog.FromContext(ctx).WithValues("controller", state.name)
	logger.V(2).Info("Starting controller")
	r.Events.Starting(object, object.GetName())
	running := &running{controller: next, object: object, spec: spec, since: time.Now(), required: r.require(spec)}
	next.Reads = running.required
	next.Recall(object.GetStatus().LastError)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	running.stop = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		next.Run(ctx)
	}()
	state.setRunning(running)
	logger.Info("Started controller")
	r.Events.Started(object, object.GetName())
}

// stop stops the running controller, if there is one.
func (r *Reconciler) stop(ctx context.Context, state *controllerState) {
	running := state.getRunning()
	if running == nil {
		return
	}
	state.setRunning(nil)
	logger := klog.FromContext(ctx).WithValues("controller", state.name)
	logger.V(2).Info("Stopping controller")
	r.Events.Stopping(running.object, state.name)
	running.stop()
	running.required.Close()
	logger.Info("Stopped controller")
	r.Events.Stopped(running.object, state.name)
}

// endAll stops everything that is done for the controller objects, all at the same time.
func (r *Reconciler) endAll(ctx context.Context) {
	var ending sync.WaitGroup
	for _, state := range r.states.all() {
		ending.Go(func() { r.end(ctx, state) })
	}
	ending.Wait()
}

func withController(ctx context.Context, name string) context.Context {
	return klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", name))
}

// A controller that acts as a service account runs only while that account may read what the controller needs. A spec
// has a requirement from when it is resolved, and a controller has its own from when it starts, because the spec that
// runs may be an earlier one. When an answer of the cluster changes, the name is enqueued. A missing right never
// makes the controller delete anything.

// require returns the requirement to read the objects that a spec needs. It enqueues the name when the answers of the
// cluster change.
func (r *Reconciler) require(spec *parentcontroller.Spec) *permissions.Requirement {
	if spec.Access.ServiceAccount == nil {
		return nil
	}
	return r.Permissions.Require(spec.Access.ServiceAccount, spec.Reads(), func() {
		r.queue.Forget(spec.Name)
		r.queue.Add(spec.Name)
	})
}

// checkReads returns an error if the service account of a spec may not read the objects that the spec needs. If the
// account is known to lack a right, checkReads also stops the controller that runs with an earlier spec. known is false
// if the cluster has not answered yet: no worker waits, and the name is enqueued when it has answered.
func (r *Reconciler) checkReads(
	ctx context.Context, state *controllerState, spec *parentcontroller.Spec,
) (known bool, err error) {
	before := state.required
	state.required = r.require(spec)
	before.Close() // after the new one has been opened, so that rights in both are not asked for again
	if !state.required.IsAnswered() {
		r.askFor(ctx, state)
		return false, nil
	}
	err = state.required.Check(ctx)
	if refusal, ok := errors.AsType[*permissions.Error](err); ok && refusal.IsForbidden() {
		r.dropPrepared(state)
		r.stop(ctx, state)
	}
	return true, err
}

// askFor asks the cluster about the rights that the current spec requires, and enqueues the name when it has answered.
func (r *Reconciler) askFor(ctx context.Context, state *controllerState) {
	if !state.asking.CompareAndSwap(false, true) {
		return
	}
	required := state.required
	r.asking.Go(func() {
		_ = required.Check(ctx) // the next reconcile sees the answers
		state.asking.Store(false)
		r.queue.Add(state.name)
	})
}

// stopIfRefused stops the controller that runs if its service account may no longer read the objects that it needs, or
// if the cluster has not responded for too long.
func (r *Reconciler) stopIfRefused(ctx context.Context, state *controllerState) {
	running := state.getRunning()
	if running == nil {
		return
	}
	if _, refused := errors.AsType[*permissions.Error](running.required.Check(ctx)); refused {
		r.stop(ctx, state)
	}
}

// A controller keeps running if the host stops serving one of its child types, or one of several types of its parents.
// Parents that want a child of a missing type fail. Parents that are being deleted are released if their finalize hook
// wants no such child. A controller that starts without a type syncs only parents that are being deleted; the others
// report what they wait for. It starts only if its parents may have its finalizer, or if it has run before.

// runWithoutType starts a controller for an object if err says that one of its types is missing, and nothing runs for it.
func (r *Reconciler) runWithoutType(ctx context.Context, state *controllerState, object controllerObject, err error) {
	hasRun := object.GetStatus().Parents != nil
	if !parentcontroller.LacksType(err) || !hasDrainFinalizer(object) && !hasRun || state.getRunning() != nil {
		return
	}
	spec, err := r.resolveWithoutTypes(ctx, object, err)
	if err == nil {
		var known bool
		if known, err = r.checkReads(ctx, state, spec); err == nil && !known {
			return // the name is enqueued when it is known
		}
	}
	var next *parentcontroller.Controller
	if err == nil {
		next, err = r.build(withController(ctx, state.name), object, spec)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to start a controller without a missing type", "controller", state.name)
		return
	}
	r.dropPrepared(state)
	r.start(ctx, state, object, spec, next)
}

// resolveWithoutTypes returns the spec of an object without the types that the host lacks.
func (r *Reconciler) resolveWithoutTypes(
	ctx context.Context, object controllerObject, lacks error,
) (spec *parentcontroller.Spec, err error) {
	rest := object.DeepCopyObject().(controllerObject)
	for err = lacks; ; {
		missing, ok := errors.AsType[*parentcontroller.MissingTypeError](err)
		if !ok {
			return nil, err
		}
		removeType(rest, missing.Rule)
		if spec, err = r.api.resolve(ctx, r.Discovery, rest); err == nil {
			break
		}
	}
	spec.Lacks = fmt.Errorf("the controller syncs only objects that are being deleted: %w", lacks)
	spec.Object, err = parentcontroller.ControllerJSON(r.kind, object.DeepCopyObject().(controllerObject))
	return spec, err
}

// removeType removes a child type, or one of several types of parents, from the spec of an object.
func removeType(from controllerObject, rule v1alpha1.ResourceRule) {
	switch of := from.(type) {
	case *v1alpha1.CompositeController:
		of.Spec.ChildResources = slices.DeleteFunc(of.Spec.ChildResources,
			func(child v1alpha1.CompositeControllerChildResourceRule) bool { return child.ResourceRule == rule })
	case *v1alpha1.DecoratorController:
		of.Spec.Resources = slices.DeleteFunc(of.Spec.Resources,
			func(target v1alpha1.DecoratorControllerResourceRule) bool { return target.ResourceRule == rule })
		of.Spec.Attachments = slices.DeleteFunc(of.Spec.Attachments,
			func(child v1alpha1.DecoratorControllerAttachmentRule) bool { return child.ResourceRule == rule })
	}
}
