// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// While controllers are held, nothing runs for any controller object: no hook is called, and nothing is written to
// parents and children. No finalizer is removed either, so an object that is being deleted waits if it has the drain finalizer. The
// status of each object says that it is held after its controller has stopped, so who must know that all have stopped can
// read it there.

// held returns why no controller may run; nil if they may.
func (r *Reconciler) held() error {
	if r.Held == nil {
		return nil
	}
	return r.Held()
}

// hold ends what is done for an object.
func (r *Reconciler) hold(ctx context.Context, state *controllerState, object controllerObject, held error) {
	r.end(ctx, state)
	state.setProblem(object, &report.Problem{Reason: report.ReasonHeld, Err: held})
}

// HoldChanged enqueues all controllers, because they may run now, or may not any more.
func (r *Reconciler) HoldChanged() {
	objects, err := r.api.list()
	if err != nil {
		return // an informer does not fail
	}
	for _, object := range objects {
		r.queue.Forget(object.GetName())
		r.queue.Add(object.GetName())
	}
}
