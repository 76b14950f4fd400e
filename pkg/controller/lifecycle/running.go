// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
)

// running is a controller that runs, and what it was made of. It does not change.
type running struct {
	controller *hosted.Controller
	object     controllerObject
	spec       *hosted.Spec
	since      time.Time
	// required is what the controller needs to read; nil if it acts as no service account.
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

// prepared is a controller that is to replace the one that runs, as soon as it sees all objects of
// its types. It does not change.
type prepared struct {
	controller *hosted.Controller
	object     controllerObject
	spec       *hosted.Spec
	since      time.Time
	// stopWaiting ends the wait for its caches.
	stopWaiting func()
}

// replace starts a controller with the spec of the object, and stops the one that runs, if any. That
// one goes on until the new one sees all objects of its types, and if the new one cannot be made.
// replace does not wait for this: started is false then, and the name is enqueued when it is time.
// The informers that both controllers use go on: the new one acquires them before the old one stops,
// or finds them lingering.
func (r *Reconciler) replace(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec) (started bool, err error) {
	next := state.getPrepared()
	if next == nil || !next.spec.SameTypes(spec) {
		if next, err = r.prepare(ctx, state, object, spec); err != nil {
			return false, err
		}
	}
	next.controller.SetSchemas(spec.Schemas)
	next.controller.SetObject(spec.Object)
	if running := state.getRunning(); running != nil && !next.controller.IsFilled() {
		state.setProblem(object, nil)
		running.controller.Recheck(ctx)
		return false, nil
	}
	next.stopWaiting()
	state.setPrepared(nil)
	if running := state.getRunning(); running != nil {
		next.controller.ReportLetGo(ctx, running.controller, object.GetName())
	}
	r.stop(ctx, state)
	state.lacksChild = false
	r.start(ctx, state, object, next.spec, next.controller)
	return true, nil
}

// prepare makes a controller, in place of the one that was prepared before. It enqueues the name
// when the controller sees all objects of its types.
func (r *Reconciler) prepare(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec) (*prepared, error) {
	r.dropPrepared(state)
	controller, err := r.build(withController(ctx, state.name), object, spec)
	if err != nil {
		return nil, err
	}
	state.endFollowing()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	enqueue, done := r.enqueuer(state.name), make(chan struct{})
	next := &prepared{controller: controller, object: object, spec: spec, since: time.Now(), stopWaiting: func() {
		cancel()
		<-done
	}}
	go func() {
		defer close(done)
		if controller.WaitForCaches(ctx) == nil {
			enqueue()
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

// build makes a controller that is ready to run.
func (r *Reconciler) build(ctx context.Context, object controllerObject, spec *hosted.Spec) (*hosted.Controller, error) {
	next, err := hosted.New(r.Dependencies, spec)
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

// start starts a controller. Until then nothing has put its finalizer on parents, and from then on
// nothing removes it from them but the controller.
func (r *Reconciler) start(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec, next *hosted.Controller) {
	r.drainer.Forget(spec.Kind.Finalizer(object.GetName()))
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

// stop stops what runs, if anything.
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

// endAll ends everything that is done for the controller objects, all at once.
func (r *Reconciler) endAll(ctx context.Context) {
	var ending sync.WaitGroup
	for _, state := range r.allStates() {
		ending.Go(func() { r.end(ctx, state) })
	}
	ending.Wait()
}

func withController(ctx context.Context, name string) context.Context {
	return klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", name))
}
