// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Two finalizers belong to a controller with a finalize hook. Its own finalizer is on its parents;
// hosted.Controller puts it there, and removes it when the hook answers that it is done. The drain
// finalizer is on the controller object, whose status.heldResources names the types of these
// parents. Without the controller, nothing would remove its own finalizer, and the parents could
// never be deleted. So the order is:
//
//  1. Put: the drain finalizer and the types are written before the controller starts.
//  2. Remove: from parents of types that the spec no longer names, or from all parents when there
//     is no finalize hook or the object is deleted. Then status.heldResources and the drain
//     finalizer follow.
//  3. Find the ones left behind: another process may have put finalizers on parents, which the
//     status does not say. They are removed once for each new spec.
//
// Removing and finding may take long and are done by package drain, which enqueues the controller
// when there is a result. Nothing may put a finalizer on parents while it is removed. So a
// controller is stopped before the removal begins, and the removal ends before one starts (start).

// ensureDrainFinalizer puts the drain finalizer on the controller object, and the types of its
// parents into the status, if there is a finalize hook. It returns the object as it is then.
func (r *Reconciler) ensureDrainFinalizer(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec) (controllerObject, error) {
	if spec.Finalize == nil {
		return object, nil
	}
	hasFinalizer := hasDrainFinalizer(object)
	added := slices.DeleteFunc(object.ParentTypes(), func(rule v1alpha1.ResourceRule) bool {
		return slices.Contains(object.GetStatus().HeldResources, rule)
	})
	if hasFinalizer && len(added) == 0 {
		return object, nil
	}
	if err := state.mayWrite(object); err != nil {
		return nil, err
	}
	var err error
	if !hasFinalizer {
		object, err = r.setFinalizers(ctx, object, append(slices.Clone(object.GetFinalizers()), v1alpha1.DrainFinalizer))
	}
	if err == nil && len(added) > 0 {
		object, err = r.setHeldResources(ctx, object, slices.Concat(object.GetStatus().HeldResources, added))
	}
	if err != nil {
		return nil, fmt.Errorf("note that parents get a finalizer: %w", err)
	}
	return object, nil
}

// removeFormerFinalizers removes the finalizer from the parents that an earlier spec put it on, and
// the current one does not. If the current spec puts it on none, the drain finalizer follows.
func (r *Reconciler) removeFormerFinalizers(ctx context.Context, state *controllerState, object controllerObject, spec *hosted.Spec) error {
	if err := r.removeLeftFinalizers(state, object, spec); err != nil {
		return err
	}
	var current []v1alpha1.ResourceRule
	if spec.Finalize != nil {
		current = object.ParentTypes()
	}
	held := object.GetStatus().HeldResources
	if slices.Equal(held, current) && hasDrainFinalizer(object) == (len(current) > 0) {
		return nil
	}
	if err := state.mayWrite(object); err != nil {
		return err
	}
	if !slices.Equal(held, current) {
		err := r.drain(state, object, whyReleased(spec), except(held, current))
		if err != nil {
			return err
		}
		if object, err = r.setHeldResources(ctx, object, current); err != nil {
			return err
		}
		r.drainer.Forget(r.kind.Finalizer(object.GetName()))
	}
	if len(current) > 0 {
		return nil
	}
	return r.removeDrainFinalizer(ctx, object)
}

// whyReleased returns why parents need the finalizer no longer, as the spec is now.
func whyReleased(spec *hosted.Spec) pipeline.UnfinalizedReason {
	if spec.Finalize == nil {
		return pipeline.NoFinalizeHook
	}
	return pipeline.TypeNotSelected
}

// reconcileDelete stops the controller of an object that is being deleted, removes its finalizer
// from all parents, and then the drain finalizer, after which the host removes the object.
func (r *Reconciler) reconcileDelete(ctx context.Context, state *controllerState, object controllerObject) error {
	state.endFollowing()
	state.endRequirement()
	r.dropPrepared(state)
	r.stop(ctx, state)
	state.setDeleting(object)
	if !hasDrainFinalizer(object) {
		return nil
	}
	if object.GetAnnotations()[v1alpha1.SkipDrainAnnotation] == "true" {
		r.drainer.Forget(r.kind.Finalizer(object.GetName()))
	} else if err := r.drainOnDelete(state, object); err != nil {
		state.setDeleting(object)
		return err
	}
	return r.removeDrainFinalizer(ctx, object)
}

// drainOnDelete has the finalizer of a controller that is being deleted removed from all its parents. One outside
// of its namespaces that its account may not update is left, or anyone who may write a parent could hold up
// the deletion for ever, by putting the finalizer on it.
func (r *Reconciler) drainOnDelete(state *controllerState, object controllerObject) error {
	as := drain.Remover{Account: hosted.AccountOf(object.GetAccess()), Namespaces: hosted.NamespacesOf(object.GetAccess())}
	return r.drainAs(as, state, object, pipeline.ControllerDeleted, drainedOnDelete(object))
}

// drainedOnDelete returns the types whose parents may have the finalizer. The types of the spec are
// always among them: an object that was restored from a file may have lost its status.
func drainedOnDelete(object controllerObject) []v1alpha1.ResourceRule {
	current := object.ParentTypes()
	return append(current, except(object.GetStatus().HeldResources, current)...)
}

// except returns the rules whose resources others do not name, in whatever version.
func except(rules, others []v1alpha1.ResourceRule) []v1alpha1.ResourceRule {
	return slices.DeleteFunc(slices.Clone(rules), func(rule v1alpha1.ResourceRule) bool {
		return slices.ContainsFunc(others, func(other v1alpha1.ResourceRule) bool {
			return rule.GroupResource() == other.GroupResource()
		})
	})
}

// waitsForDrain is the error of a reconcile that goes on when package drain has a result, and
// enqueues the controller.
type waitsForDrain struct {
	// failure is why there is none after the last attempt; nil if the first one is under way.
	failure error
}

func (e *waitsForDrain) Error() string {
	if e.failure != nil {
		return e.failure.Error()
	}
	return "finalizers are still being removed or searched for"
}

func (e *waitsForDrain) Unwrap() error { return e.failure }

// drain has the finalizer of a controller removed from all parents of some types, as the controller's
// account. The error is a *waitsForDrain until that is done.
func (r *Reconciler) drain(state *controllerState, object controllerObject, why pipeline.UnfinalizedReason, held []v1alpha1.ResourceRule) error {
	return r.drainAs(drain.Remover{Account: hosted.AccountOf(object.GetAccess())}, state, object, why, held)
}

func (r *Reconciler) drainAs(as drain.Remover, state *controllerState, object controllerObject, why pipeline.UnfinalizedReason, held []v1alpha1.ResourceRule) error {
	done, err := r.drainer.Drain(r.kind.Finalizer(object.GetName()), why, as, held, r.enqueuer(state.name))
	return r.drained(state, object, done, err)
}

// enqueuer returns a function that enqueues a name.
func (r *Reconciler) enqueuer(name string) func() { return func() { r.queue.Add(name) } }

// drained notes why finalizers could not be removed from parents, nil if they were. It returns a
// *waitsForDrain unless they were.
func (r *Reconciler) drained(state *controllerState, object controllerObject, done bool, err error) error {
	if !done && err == nil {
		return &waitsForDrain{}
	}
	if state.setDrainErr(err) {
		r.Events.DrainError(object, err)
	}
	if err != nil {
		return &waitsForDrain{failure: err}
	}
	return nil
}

// leftovers records whether the finalizers that another process left on parents have been removed.
type leftovers struct {
	spec    specID
	removed bool
}

// see starts the search again if the spec is another one.
func (l *leftovers) see(object controllerObject) {
	if current := specIDOf(object); l.spec != current {
		*l = leftovers{spec: current}
	}
}

// removeLeftFinalizers removes the finalizer from parents that another process put it on, once in
// each process: nothing says whether an earlier process has ended its search. From the parents that
// its views show, the controller removes it itself. They do not show parents that its selectors do
// not select, so these are searched for, once for all controllers.
func (r *Reconciler) removeLeftFinalizers(state *controllerState, object controllerObject, spec *hosted.Spec) error {
	known := &state.leftovers
	if known.removed || spec.SeesAll() {
		return nil
	}
	finalizer := r.kind.Finalizer(object.GetName())
	for _, rule := range object.ParentTypes() {
		found, done, err := r.scanner.Search(rule, object.GetUID(), finalizer, r.enqueuer(state.name))
		if !done {
			return r.drained(state, object, done, err)
		}
		if !found {
			continue
		}
		if err := r.drain(state, object, whyReleased(spec), []v1alpha1.ResourceRule{rule}); err != nil {
			return err
		}
		r.scanner.Removed(rule, finalizer)
		r.drainer.Forget(finalizer)
	}
	known.removed = true
	state.setDrainErr(nil)
	return nil
}

func hasDrainFinalizer(object controllerObject) bool {
	return slices.Contains(object.GetFinalizers(), v1alpha1.DrainFinalizer)
}

func (r *Reconciler) removeDrainFinalizer(ctx context.Context, object controllerObject) error {
	if !hasDrainFinalizer(object) {
		return nil
	}
	finalizers := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool { return name == v1alpha1.DrainFinalizer })
	_, err := r.setFinalizers(ctx, object, finalizers)
	return err
}

// setFinalizers replaces the finalizers of the object. It is in conflict if the object has changed.
func (r *Reconciler) setFinalizers(ctx context.Context, object controllerObject, finalizers []string) (controllerObject, error) {
	var patch struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
			Finalizers      []string  `json:"finalizers"`
		} `json:"metadata"`
	}
	patch.Metadata.UID, patch.Metadata.ResourceVersion, patch.Metadata.Finalizers = object.GetUID(), object.GetResourceVersion(), finalizers
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return r.api.patch(ctx, object.GetName(), body)
}

// setHeldResources writes to the status the types whose parents may have the finalizer.
func (r *Reconciler) setHeldResources(ctx context.Context, object controllerObject, held []v1alpha1.ResourceRule) (controllerObject, error) {
	changed := object.DeepCopyObject().(controllerObject)
	changed.GetStatus().HeldResources = held
	return r.api.updateStatus(ctx, changed)
}
