// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"sync"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
)

// running is a controller that runs, and what it was made of. It does not change.
type running struct {
	controller *hosted.Controller
	object     controllerObject
	spec       *hosted.Spec
	// stop stops the controller, and waits until it has stopped.
	stop func()
}

// replace stops what runs, if anything, and starts a controller with the spec of the object. If
// that cannot be made, what runs goes on. The informers that both controllers use go on: the new
// one acquires them before the old one stops, or finds them lingering.
func (r *Reconciler) replace(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec) error {
	next, err := r.build(withController(ctx, object.GetName()), object, spec)
	if err != nil {
		return err
	}
	state.endFollowing()
	r.stop(ctx, state)
	r.start(ctx, state, object, spec, next)
	return nil
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

func (r *Reconciler) start(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec, next *hosted.Controller) {
	logger := klog.FromContext(ctx).WithValues("controller", object.GetName())
	logger.Info("Starting controller")
	r.Events.Starting(object, object.GetName())
	running := &running{controller: next, object: object, spec: spec}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
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
	logger.Info("Stopping controller")
	r.Events.Stopping(running.object, state.name)
	running.stop()
	logger.Info("Stopped controller")
	r.Events.Stopped(running.object, state.name)
}

// stopAll stops all controllers at once.
func (r *Reconciler) stopAll(ctx context.Context) {
	var stopping sync.WaitGroup
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, state := range r.states {
		stopping.Go(func() {
			state.endFollowing()
			r.stop(ctx, state)
		})
	}
	stopping.Wait()
}

func withController(ctx context.Context, name string) context.Context {
	return klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", name))
}
