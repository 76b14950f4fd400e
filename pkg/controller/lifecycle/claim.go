// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/replicas"
)

// A controller runs in the replica that status.runner names, and only that one writes the rest of the
// status. A replica writes its name there if the field is empty, or names a dead replica, and it empties the field
// after it has stopped the controller. Both fail if another replica was faster. Each shard of a controller that is split
// has such a field of its own. When the number of shards changes, none of the new ones is claimed before all of the
// former ones have been given away.

// claim reports whether this replica is to run the controller of an object. It returns the object as it is
// then. If another replica is to, the controller does not run here any more when claim returns.
func (r *Reconciler) claim(ctx context.Context, state *controllerState, object controllerObject) (_ controllerObject, mine bool, err error) {
	if r.sharing == nil {
		return object, true, nil
	}
	object = state.latest(object)
	isWanted := slices.Contains(r.unitsOf(object), state.unit)
	runner, toBeMine := runnerOf(object, state.unit), isWanted && r.sharing.isMine(r.idOf(state.unit))
	switch me := r.sharing.membership.Name(); {
	case runner == me && toBeMine && state.claimed:
		return object, true, nil
	case runner == me: // also if it was to be given away before, and the status could not be written
		r.letGo(ctx, state)
		_, err := r.setRunner(ctx, state, object, nil)
		return object, false, err
	case !toBeMine || !r.sharing.isFree(object, state.unit):
		r.letGo(ctx, state)
		if !isWanted {
			r.drop(state)
		}
		return object, false, nil
	}
	if err := state.mayWrite(object); err != nil {
		return object, false, err
	}
	hasRun := report.OfShard(object.GetStatus(), state.unit.shard).ObservedGeneration > 0
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
	status := changed.GetStatus()
	part := report.OfShard(status, state.unit.shard)
	part.Runner = runner
	*status = report.WithShard(*status, state.unit.shard, part)
	state.named = state.named || runner != nil
	written, err := r.api.updateStatus(ctx, changed)
	if err != nil {
		return nil, fmt.Errorf("write status.runner: %w", err)
	}
	state.named, state.runnerWritten = runner != nil, written
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

// endTimeout is how long a replica that ends tries to say in the status of its controllers that it does not run them any
// more. The others wait for its Lease to expire if it fails. It is shorter than the time that the process has to end.
const endTimeout = 15 * time.Second

// releaseBackoff is how often a write is tried again that fails, or that others overtake: the shards of a controller share a
// status.
var releaseBackoff = wait.Backoff{Steps: 15, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5}

// release writes that this replica does not run a controller any more. It has ended.
func (r *Reconciler) release(ctx context.Context, state *controllerState) {
	mayHelp := func(err error) bool {
		return ctx.Err() == nil && !apierrors.IsNotFound(err) && !errors.Is(err, replicas.ErrLeaseLost)
	}
	err := retry.OnError(releaseBackoff, mayHelp, func() error {
		object, err := r.api.getLive(ctx, state.unit.name)
		if err != nil || runnerOf(object, state.unit) != r.sharing.membership.Name() {
			return err
		}
		_, err = r.setRunner(ctx, state, object, nil)
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		klog.FromContext(ctx).Error(err, "Failed to hand over a controller; another replica takes it over later", "kind", r.kind.Name, "controller", state.unit.String())
	}
}

func (r *Reconciler) idOf(of unit) unitID { return unitID{r.kind.Name, of} }
