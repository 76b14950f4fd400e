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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// Two finalizers belong to a controller with a finalize hook. Its own finalizer is on its parents;
// [parentcontroller.Controller] puts it there, and removes it when the hook answers that it is done. The drain
// finalizer is on the controller object, whose status.heldResources names the types of these parents. Without the
// controller, nothing would remove its own finalizer, and the parents could never be deleted. So the order is:
//
//  1. Put: the drain finalizer and the types are written before the controller starts.
//  2. Remove: the controller's own finalizer is removed from parents of types that the spec no longer names, or from
//     all parents when there is no finalize hook or the object is deleted. Then status.heldResources is updated, and
//     the drain finalizer removed.
//  3. Find the ones left behind: another process may have put finalizers on parents without recording it in the status.
//     They are removed once for each new spec.
//
// Removing and finding may take long. Package drain does both, and enqueues the controller when there is a result.
// Nothing may put a finalizer on parents while it is being removed. So a controller is stopped before the removal
// begins, and the removal ends before a controller starts (start).

// finalizers writes the finalizers of the controller objects of one kind, and removes the controllers' own finalizers
// from parents.
type finalizers struct {
	kind    parentcontroller.Kind
	api     apiClient
	drainer *drain.Drainer
	scanner *drain.Scanner
	events  *report.Events
	// enqueue is called with a name when package drain has a result for it.
	enqueue func(name string)
}

// forget drops all data about finalizers that were removed from parents of a controller.
func (f *finalizers) forget(name string) { f.drainer.Forget(f.kind.Finalizer(name)) }

// ensure puts the drain finalizer on the controller object, and the types of its
// parents into the status, if there is a finalize hook. It returns the object as it is then.
func (f *finalizers) ensure(
	ctx context.Context, state *controllerState, object controllerObject, spec *parentcontroller.Spec,
) (controllerObject, error) {
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
		object, err = f.setOwn(ctx, object, append(slices.Clone(object.GetFinalizers()), v1alpha1.DrainFinalizer))
	}
	if err == nil && len(added) > 0 {
		object, err = f.setHeldResources(ctx, object, slices.Concat(object.GetStatus().HeldResources, added))
	}
	if err != nil {
		return nil, fmt.Errorf("record that parents get a finalizer: %w", err)
	}
	return object, nil
}

// removeFormer removes the finalizer from the parents that an earlier spec put it on and the current one does not. If
// the current spec puts it on none, removeFormer also removes the drain finalizer.
func (f *finalizers) removeFormer(
	ctx context.Context, state *controllerState, object controllerObject, spec *parentcontroller.Spec,
) error {
	if err := f.removeLeft(state, object, spec); err != nil {
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
		err := f.drain(state, object, whyReleased(spec), except(held, current))
		if err != nil {
			return err
		}
		if object, err = f.setHeldResources(ctx, object, current); err != nil {
			return err
		}
		f.forget(object.GetName())
	}
	if len(current) > 0 {
		return nil
	}
	return f.removeOwn(ctx, object)
}

// whyReleased returns why parents no longer need the finalizer with this spec.
func whyReleased(spec *parentcontroller.Spec) pipeline.UnfinalizedReason {
	if spec.Finalize == nil {
		return pipeline.NoFinalizeHook
	}
	return pipeline.TypeNotSelected
}

// drainOnDelete removes the finalizer of a controller that is being deleted from all its parents. It skips parents
// outside the controller's namespaces that its account may not update. Otherwise anyone who may write a parent could
// block the deletion forever by adding the finalizer to it.
func (f *finalizers) drainOnDelete(state *controllerState, object controllerObject) error {
	as := drain.Remover{
		Account:    parentcontroller.AccountOf(object.GetAccess()),
		Namespaces: parentcontroller.NamespacesOf(object.GetAccess()),
	}
	return f.drainAs(as, state, object, pipeline.ControllerDeleted, drainedOnDelete(object))
}

// drainedOnDelete returns the types whose parents may have the finalizer. The types of the spec are
// always among them: an object that was restored from a file may have lost its status.
func drainedOnDelete(object controllerObject) []v1alpha1.ResourceRule {
	current := object.ParentTypes()
	return append(current, except(object.GetStatus().HeldResources, current)...)
}

// except returns the rules for resources that others do not name in any version.
func except(rules, others []v1alpha1.ResourceRule) []v1alpha1.ResourceRule {
	return slices.DeleteFunc(slices.Clone(rules), func(rule v1alpha1.ResourceRule) bool {
		return slices.ContainsFunc(others, func(other v1alpha1.ResourceRule) bool {
			return rule.GroupResource() == other.GroupResource()
		})
	})
}

// waitsForDrain is the error of a reconcile that continues when package drain has a result, and enqueues the
// controller.
type waitsForDrain struct {
	// failure is the error of the last attempt; nil while the first one is running.
	failure error
}

func (e *waitsForDrain) Error() string {
	if e.failure != nil {
		return e.failure.Error()
	}
	return "the server is still searching for finalizers or removing them"
}

func (e *waitsForDrain) Unwrap() error { return e.failure }

// drain removes the finalizer of a controller from all parents of some types, as the controller's account. The error
// is a *waitsForDrain until that is done.
func (f *finalizers) drain(
	state *controllerState, object controllerObject, why pipeline.UnfinalizedReason, held []v1alpha1.ResourceRule,
) error {
	return f.drainAs(drain.Remover{Account: parentcontroller.AccountOf(object.GetAccess())}, state, object, why, held)
}

func (f *finalizers) drainAs(
	as drain.Remover, state *controllerState, object controllerObject, why pipeline.UnfinalizedReason,
	held []v1alpha1.ResourceRule,
) error {
	done, err := f.drainer.Drain(f.kind.Finalizer(object.GetName()), why, as, held, func() { f.enqueue(state.name) })
	return f.drained(state, object, done, err)
}

// drained records why finalizers could not be removed from parents, nil if they were. It returns a *waitsForDrain
// unless they were.
func (f *finalizers) drained(state *controllerState, object controllerObject, done bool, err error) error {
	if !done && err == nil {
		return &waitsForDrain{}
	}
	if state.setDrainErr(err) {
		f.events.DrainError(object, err)
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

// see starts the search again if the spec has changed.
func (l *leftovers) see(object controllerObject) {
	if current := specIDOf(object); l.spec != current {
		*l = leftovers{spec: current}
	}
}

// removeLeft removes the finalizer from parents that another process put it on. Each process does so once for each
// spec, because nothing says whether an earlier process has finished its search. The controller itself removes the
// finalizer from the parents that its views show. The scanner searches for the parents that its selectors do not
// select, once for all controllers.
func (f *finalizers) removeLeft(state *controllerState, object controllerObject, spec *parentcontroller.Spec) error {
	known := &state.leftovers
	if known.removed || spec.SeesAll() {
		return nil
	}
	finalizer := f.kind.Finalizer(object.GetName())
	for _, rule := range object.ParentTypes() {
		found, done, err := f.scanner.Search(rule, object.GetUID(), finalizer, func() { f.enqueue(state.name) })
		if !done {
			return f.drained(state, object, done, err)
		}
		if !found {
			continue
		}
		if err := f.drain(state, object, whyReleased(spec), []v1alpha1.ResourceRule{rule}); err != nil {
			return err
		}
		f.scanner.Removed(rule, finalizer)
		f.drainer.Forget(finalizer)
	}
	known.removed = true
	state.setDrainErr(nil)
	return nil
}

func hasDrainFinalizer(object controllerObject) bool {
	return slices.Contains(object.GetFinalizers(), v1alpha1.DrainFinalizer)
}

func (f *finalizers) removeOwn(ctx context.Context, object controllerObject) error {
	if !hasDrainFinalizer(object) {
		return nil
	}
	isDrain := func(name string) bool { return name == v1alpha1.DrainFinalizer }
	_, err := f.setOwn(ctx, object, slices.DeleteFunc(slices.Clone(object.GetFinalizers()), isDrain))
	return err
}

// setOwn replaces the finalizers of the object. It returns a conflict if the object has changed.
func (f *finalizers) setOwn(
	ctx context.Context, object controllerObject, finalizers []string,
) (controllerObject, error) {
	var patch struct {
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
			Finalizers      []string  `json:"finalizers"`
		} `json:"metadata"`
	}
	patch.Metadata.UID, patch.Metadata.ResourceVersion = object.GetUID(), object.GetResourceVersion()
	patch.Metadata.Finalizers = finalizers
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return f.api.patch(ctx, object.GetName(), body)
}

// setHeldResources writes to the status the types whose parents may have the finalizer.
func (f *finalizers) setHeldResources(
	ctx context.Context, object controllerObject, held []v1alpha1.ResourceRule,
) (controllerObject, error) {
	changed := object.DeepCopyObject().(controllerObject)
	changed.GetStatus().HeldResources = held
	return f.api.updateStatus(ctx, changed)
}
