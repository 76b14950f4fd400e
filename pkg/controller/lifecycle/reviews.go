// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
)

// Kind returns the kind of the controller objects.
func (r *Reconciler) Kind() string { return r.kind.Name }

// Live returns the controller object of a name as it is stored.
func (r *Reconciler) Live(ctx context.Context, name string) (hosted.ControllerObject, error) {
	return r.api.getLive(ctx, name)
}

// Running returns the controller that runs for an object with the spec that it has; nil if none does.
func (r *Reconciler) Running(of hosted.ControllerObject) *hosted.Controller {
	running := r.runningNamed(of.GetName())
	if running == nil || !equalSpecs(running.object, of.(controllerObject)) {
		return nil
	}
	return running.controller
}

// Temporary returns a controller for an object, which need not be stored. It does not run, but it sees
// all objects of its types. The caller must call release in the end.
func (r *Reconciler) Temporary(ctx context.Context, of hosted.ControllerObject) (_ *hosted.Controller, release func(), err error) {
	spec, err := r.api.resolve(ctx, r.Discovery, of.(controllerObject))
	if err != nil {
		return nil, nil, r.Discovery.WithSuggestion(ctx, err)
	}
	dependencies := r.Dependencies
	dependencies.Hook.Metrics, dependencies.Tracer = nil, nil
	dependencies.Syncs, dependencies.Calls = nil, nil
	temporary, err := hosted.New(dependencies, spec)
	if err != nil {
		return nil, nil, err
	}
	if account := spec.Access.ServiceAccount; account != nil {
		temporary.Reads = r.Permissions.Require(account, spec.Reads(), func() {})
	}
	release = func() {
		temporary.Close()
		temporary.Reads.Close()
	}
	if err := fill(ctx, temporary); err != nil {
		release()
		return nil, nil, err
	}
	return temporary, release, nil
}

// fill waits until a controller may read, and sees, what it needs.
func fill(ctx context.Context, temporary *hosted.Controller) error {
	if err := temporary.Reads.Check(ctx); err != nil {
		return err
	}
	if err := temporary.ConnectForPreviews(ctx); err != nil {
		return err
	}
	err := temporary.WaitForCaches(ctx)
	if err == nil {
		return nil
	}
	if problem := temporary.CacheProblem(); problem != nil {
		return fmt.Errorf("%w: %w", err, problem.Err)
	}
	return err
}
