// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
)

// A controller whose child type is removed from the host runs on: its parents fail if they want a child of the type,
// and those that are being deleted go if their finalize hook wants none. One that starts without a child type, and
// whose parents may have its finalizer, syncs only those that are being deleted. The others say what they wait for.

// runWithoutChild starts a controller of an object whose child type is missing, because of err, if nothing runs for it.
func (r *Reconciler) runWithoutChild(ctx context.Context, state *controllerState, object controllerObject, err error) {
	if !hosted.LacksChild(err) || !hasDrainFinalizer(object) || state.getRunning() != nil {
		return
	}
	spec, err := r.resolveWithoutChildren(ctx, object, err)
	if err == nil {
		var known bool
		if known, err = r.checkReads(ctx, state, spec); err == nil && !known {
			return // the name is enqueued when it is known
		}
	}
	var next *hosted.Controller
	if err == nil {
		next, err = r.build(withController(ctx, state.name), object, spec)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to start a controller without a child type", "controller", state.name)
		return
	}
	r.dropPrepared(state)
	r.start(ctx, state, object, spec, next)
}

// resolveWithoutChildren returns the spec of an object without the child types that the host lacks.
func (r *Reconciler) resolveWithoutChildren(
	ctx context.Context, object controllerObject, lacks error,
) (spec *hosted.Spec, err error) {
	rest := object.DeepCopyObject().(controllerObject)
	for err = lacks; ; {
		missing, ok := errors.AsType[*hosted.MissingChildError](err)
		if !ok {
			return nil, err
		}
		removeChild(rest, missing.Rule)
		if spec, err = r.api.resolve(ctx, r.Discovery, rest); err == nil {
			break
		}
	}
	spec.Lacks = fmt.Errorf("only objects that are being deleted are synced: %w", lacks)
	spec.Object, err = hosted.ControllerJSON(r.kind, object.DeepCopyObject().(controllerObject))
	return spec, err
}

// removeChild removes a child type from the spec of an object.
func removeChild(from controllerObject, rule v1alpha1.ResourceRule) {
	switch of := from.(type) {
	case *v1alpha1.CompositeController:
		of.Spec.ChildResources = slices.DeleteFunc(of.Spec.ChildResources,
			func(child v1alpha1.CompositeControllerChildResourceRule) bool { return child.ResourceRule == rule })
	case *v1alpha1.DecoratorController:
		of.Spec.Attachments = slices.DeleteFunc(of.Spec.Attachments,
			func(child v1alpha1.DecoratorControllerAttachmentRule) bool { return child.ResourceRule == rule })
	}
}
