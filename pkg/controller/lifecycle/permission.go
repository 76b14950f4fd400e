// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
)

// A controller that acts as a service account runs only while that account may read what the
// controller needs. Each spec has a requirement from when it is resolved, and each controller from
// when it starts: the spec that runs may be an earlier one. When an answer of the cluster changes,
// the name is enqueued. Nothing is deleted because a right is missing.

// require returns the requirement to read what a spec needs. It enqueues the name when the answers
// of the cluster change.
func (r *Reconciler) require(spec *hosted.Spec) *permissions.Requirement {
	if spec.Access.ServiceAccount == nil {
		return nil
	}
	return r.Permissions.Require(spec.Access.ServiceAccount, spec.Reads(), func() {
		r.queue.Forget(spec.Name)
		r.queue.Add(spec.Name)
	})
}

// checkReads returns an error if the service account of a spec may not read what the spec needs. If
// it is known to lack a right, no controller runs for the object then, with an earlier spec neither. If the cluster has
// not answered yet, that is not known: the name is enqueued when it has, so no worker waits.
func (r *Reconciler) checkReads(
	ctx context.Context, state *controllerState, spec *hosted.Spec,
) (known bool, err error) {
	before := state.required
	state.required = r.require(spec)
	before.Close() // after the new one has been opened: rights in both are not asked for again
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

// askFor asks the cluster for the rights that the current spec requires, and enqueues the name when it has answered.
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

// stopIfRefused stops the controller that runs if its service account may no longer read what it
// needs, or if that has not been known for too long.
func (r *Reconciler) stopIfRefused(ctx context.Context, state *controllerState) {
	running := state.getRunning()
	if running == nil {
		return
	}
	if _, refused := errors.AsType[*permissions.Error](running.required.Check(ctx)); refused {
		r.stop(ctx, state)
	}
}

// endRequirement ends what checkReads has begun.
func (s *controllerState) endRequirement() {
	s.required.Close()
	s.required = nil
}
