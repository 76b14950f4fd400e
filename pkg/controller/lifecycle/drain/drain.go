// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// Drainer removes finalizers from objects of the host. The caller runs it.
type Drainer struct {
	client    *host.Client
	discovery *discovery.Discovery
	// actor writes, and limits how many writes are under way at once.
	actor *act.Actor
	// removed is called with each object that has lost a finalizer.
	removed func(parent *object.Object, finalizer string, why pipeline.UnfinalizedReason)
	queue   *queue

	mu sync.Mutex
	// removals are the removals by finalizer, including those that have ended.
	removals map[string]*removal
}

// New returns a Drainer that writes with the actor. It calls removed for each object whose finalizer it removed
// although no finalize hook has returned "finalized": true.
func New(
	client *host.Client, discovery *discovery.Discovery, actor *act.Actor,
	removed func(parent *object.Object, finalizer string, why pipeline.UnfinalizedReason),
) *Drainer {
	return &Drainer{
		client: client, discovery: discovery, actor: actor, removed: removed,
		queue: newQueue(), removals: map[string]*removal{},
	}
}

// Run removes finalizers, and searches for the Scanners, until ctx ends.
func (d *Drainer) Run(ctx context.Context) { d.queue.run(ctx) }

// Remover names the account that removes a finalizer, and the place.
type Remover struct {
	Account host.Account
	// Namespaces are those in which a removal must succeed. Elsewhere, an object keeps the finalizer if the account
	// has no right to update it, because another controller may have added the finalizer.
	Namespaces object.Namespaces
}

func (r Remover) equal(other Remover) bool {
	return r.Account == other.Account && slices.Equal(r.Namespaces.Names(), other.Namespaces.Names())
}

// mayLeave reports whether an object may keep the finalizer although it could not be removed.
func (r Remover) mayLeave(parent *object.Object, err error) bool {
	_, lacksRight := errors.AsType[*act.MissingRightError](err)
	return lacksRight && !r.Namespaces.Has(parent.Namespace)
}

// Drain removes a finalizer from all objects of resources with the account of a Remover. The event about each object
// contains why. Nothing may put it on objects of these resources until Drain has reported that it is done, or Forget
// is called. A resource that the host does not serve in any version has no objects.
//
// Drain does not wait: it begins the removal unless there is one of these resources as that Remover, and reports
// whether it is done. The error says why the removal has failed so far, for some objects or all of a resource; it is
// tried again. notify is called when the removal is done, and after each attempt that failed. There is one removal of a
// finalizer at a time: the removal of the last call.
func (d *Drainer) Drain(
	finalizer string, why pipeline.UnfinalizedReason, as Remover, resources []v1alpha1.ResourceRule, notify func(),
) (done bool, err error) {
	if len(resources) == 0 {
		return true, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	current := d.removals[finalizer]
	if current == nil || !current.as.equal(as) || !slices.Equal(current.resources, resources) {
		former := current
		if former != nil {
			former.cancel()
		}
		current = newRemoval(d, finalizer, why, as, resources, notify)
		current.former = former
		d.removals[finalizer] = current
		d.queue.add(current)
	}
	return current.done, current.err
}

// Forget ends the removal of a finalizer, if there is one, and waits for its last write. Afterwards the finalizer may
// be put on objects.
func (d *Drainer) Forget(finalizer string) {
	d.mu.Lock()
	current := d.removals[finalizer]
	delete(d.removals, finalizer)
	d.mu.Unlock()
	if current != nil {
		current.stop()
	}
}

// failed adds the resource to an error.
func failed(rule v1alpha1.ResourceRule, err error) error {
	return fmt.Errorf("remove the finalizer from %s of %s: %w", rule.Resource, rule.APIVersion, err)
}

// resolve finds the type of a rule, and reports whether the host serves it in any version.
func (d *Drainer) resolve(ctx context.Context, rule v1alpha1.ResourceRule) (of object.Type, served bool, err error) {
	of, err = d.discovery.ResolveInAnyVersion(ctx, rule.APIVersion, rule.Resource)
	if _, unknown := errors.AsType[*discovery.UnknownTypeError](err); unknown {
		return of, false, nil
	}
	return of, err == nil, err
}

// remove removes the finalizer from the objects that have it, as a Remover, and returns the errors.
func (d *Drainer) remove(
	ctx context.Context, of object.Type, finalizer string, why pipeline.UnfinalizedReason, as Remover,
	objects []*object.Object,
) (failures []error) {
	if why != pipeline.ControllerDeleted { // a controller that is deleted does not wait for the end of a pause
		objects = slices.DeleteFunc(slices.Clone(objects), func(of *object.Object) bool {
			isPaused := of.Annotations[v1alpha1.PausedAnnotation] == "true"
			if isPaused {
				failures = append(failures, fmt.Errorf("%s is paused, so it keeps the finalizer until the pause ends", of))
			}
			return isPaused
		})
	}
	removal, err := removalPlan(of, finalizer, why, objects)
	if err != nil {
		return append(failures, err)
	}
	actor := d.actor.For(finalizer, as.Account)
	for _, outcome := range actor.Act(ctx, &pipeline.Snapshot{}, removal) {
		switch {
		case outcome.Err != nil && as.mayLeave(outcome.Observed, outcome.Err):
			klog.FromContext(ctx).V(2).Info("Left the finalizer on an object outside of the controller's namespaces",
				"finalizer", finalizer, "object", klog.KObj(outcome.Observed), "err", outcome.Err)
		case outcome.Err != nil:
			failures = append(failures, outcome.Err)
		case outcome.Conflict:
			if _, err := actor.Writer.Get(ctx, of, outcome.Observed.Key()); !apierrors.IsNotFound(err) {
				failures = append(failures, fmt.Errorf("%s keeps changing", outcome.Observed))
			}
		case outcome.Result != nil:
			d.removed(outcome.Observed, finalizer, why)
		}
	}
	return failures
}

// removalPlan returns the plan that removes the finalizer from the objects that have it.
func removalPlan(
	of object.Type, finalizer string, why pipeline.UnfinalizedReason, objects []*object.Object,
) (*pipeline.Plan, error) {
	removal := &pipeline.Plan{}
	for _, parent := range objects {
		step, err := plan.RemoveFinalizerStep(&pipeline.Snapshot{ParentType: of, Parent: parent, Finalizer: finalizer}, why)
		if err != nil {
			return nil, err
		}
		if step != nil {
			removal.Steps = append(removal.Steps, *step)
		}
	}
	return removal, nil
}
