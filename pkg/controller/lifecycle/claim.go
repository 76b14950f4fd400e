// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A controller runs in the replica that status.runner names, and only that one writes the rest of the
// status. A replica writes its name there if the field is empty, or names a dead replica, and it empties the field
// after it has stopped the controller. Both fail if another replica was faster.

// claim reports whether this replica is to run the controller of an object. It returns the object as it is
// then. If another replica is to, the controller does not run here any more when claim returns.
func (r *Reconciler) claim(ctx context.Context, state *controllerState, object controllerObject) (_ controllerObject, mine bool, err error) {
	if r.sharing == nil {
		return object, true, nil
	}
	object = state.latest(object)
	runner, toBeMine := runnerOf(object), r.sharing.isMine(r.unitOf(state.name))
	switch me := r.sharing.membership.Name(); {
	case runner == me && toBeMine && state.claimed:
		return object, true, nil
	case runner == me: // also if it was to be given away before, and the status could not be written
		r.letGo(ctx, state)
		_, err := r.setRunner(ctx, state, object, nil)
		return object, false, err
	case !toBeMine || !r.sharing.isFree(runner):
		r.letGo(ctx, state)
		return object, false, nil
	}
	if err := state.mayWrite(object); err != nil {
		return object, false, err
	}
	hasRun := object.GetStatus().ObservedGeneration > 0
	object, err = r.setRunner(ctx, state, object, &v1alpha1.Runner{Replica: r.sharing.membership.Name(), Since: metav1.Now()})
	if err != nil {
		return object, false, err
	}
	state.claimed = true
	if hasRun {
		r.Events.TakenOver(object, r.sharing.membership.Name(), runner)
	}
	return object, true, nil
}

// letGo stops the controller of an object that another replica runs.
func (r *Reconciler) letGo(ctx context.Context, state *controllerState) {
	if !state.claimed {
		return
	}
	state.claimed = false
	r.end(ctx, state)
	state.forgetResult()
}

// setRunner writes which replica runs the controller of an object; nil for none.
func (r *Reconciler) setRunner(ctx context.Context, state *controllerState, object controllerObject, runner *v1alpha1.Runner) (controllerObject, error) {
	changed := object.DeepCopyObject().(controllerObject)
	changed.GetStatus().Runner = runner
	written, err := r.api.updateStatus(ctx, changed)
	if err != nil {
		return nil, err
	}
	state.runnerWritten = written
	return written, nil
}

// latest returns the object, or what this replica has written last if the informer does not show that yet.
func (s *controllerState) latest(object controllerObject) controllerObject {
	written := s.runnerWritten
	if written == nil {
		return object
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), written.GetResourceVersion())
	if err == nil && order < 0 && object.GetUID() == written.GetUID() {
		return written
	}
	s.runnerWritten = nil
	return object
}

// releaseTimeout is how long a replica that ends tries to say so in the status of its controllers. The
// others wait for its Lease to expire if it fails.
const releaseTimeout = 5 * time.Second

// releaseAll writes that this replica runs none of its controllers any more. They have all stopped.
func (r *Reconciler) releaseAll(ctx context.Context) {
	if r.sharing == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	var claimed []string
	for name, state := range r.states {
		if state.claimed {
			claimed = append(claimed, name)
		}
	}
	workqueue.ParallelizeUntil(ctx, statusWriters, len(claimed), func(i int) {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			object, err := r.api.getLive(ctx, claimed[i])
			if err != nil || runnerOf(object) != r.sharing.membership.Name() {
				return err
			}
			_, err = r.setRunner(ctx, r.states[claimed[i]], object, nil)
			return err
		})
		if err != nil && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "Failed to hand over a controller; another replica takes it over later", "kind", r.kind.Name, "controller", claimed[i])
		}
	})
}

// runnerOf returns the replica that runs the controller of an object, empty if none does.
func runnerOf(object controllerObject) string {
	if runner := object.GetStatus().Runner; runner != nil {
		return runner.Replica
	}
	return ""
}

func (r *Reconciler) unitOf(name string) unitID { return unitID{r.kind.Name, name} }
