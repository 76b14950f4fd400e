// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
)

// drainTurn is how long parents are drained before it is looked whether that is still
// wanted.
const drainTurn = 30 * time.Second

// reserve notes on the controller's object, before its first parent can be held, that it
// cannot go without letting go of them, and of which type they are. It returns the
// object with the note.
func (r *Reconciler) reserve(ctx context.Context, entry *controllerEntry, object declared, spec *hosted.Spec) (declared, error) {
	held := object.GetStatus().HeldResources
	unnoted := slices.DeleteFunc(object.ParentTypes(), func(rule v1alpha1.ResourceRule) bool { return slices.Contains(held, rule) })
	kept := slices.Contains(object.GetFinalizers(), v1alpha1.DrainFinalizer)
	if spec.Finalize == nil || kept && len(unnoted) == 0 {
		return object, nil
	}
	if err := entry.mayWrite(object); err != nil {
		return nil, err
	}
	var err error
	if !kept {
		object, err = r.setFinalizers(ctx, object, append(slices.Clone(object.GetFinalizers()), v1alpha1.DrainFinalizer))
	}
	if err == nil && len(unnoted) > 0 {
		object, err = r.setHeld(ctx, object, slices.Concat(object.GetStatus().HeldResources, unnoted))
	}
	if err != nil {
		return nil, fmt.Errorf("note that parents are held: %w", err)
	}
	return object, nil
}

// letGo drains the parents of types that the running spec does not hold any more.
func (r *Reconciler) letGo(ctx context.Context, entry *controllerEntry, object declared, spec *hosted.Spec) error {
	if err := r.letGoOfLeftovers(ctx, entry, object, spec); err != nil {
		return err
	}
	var holds []v1alpha1.ResourceRule
	if spec.Finalize != nil {
		holds = object.ParentTypes()
	}
	held, kept := object.GetStatus().HeldResources, slices.Contains(object.GetFinalizers(), v1alpha1.DrainFinalizer)
	if slices.Equal(held, holds) && kept == (len(holds) > 0) {
		return nil
	}
	if err := entry.mayWrite(object); err != nil {
		return err
	}
	if !slices.Equal(held, holds) {
		err := r.drain(ctx, entry, object, others(held, holds))
		if err != nil {
			return err
		}
		if object, err = r.setHeld(ctx, object, holds); err != nil {
			return err
		}
	}
	if len(holds) > 0 {
		return nil
	}
	return r.free(ctx, object)
}

// retire ends a controller whose object is being deleted: its loop stops, and when its
// parents are let go, so is the object.
func (r *Reconciler) retire(ctx context.Context, entry *controllerEntry, object declared) error {
	entry.stopWaiting()
	r.stop(ctx, entry)
	entry.setDeleting(object)
	if !slices.Contains(object.GetFinalizers(), v1alpha1.DrainFinalizer) {
		return nil
	}
	if object.GetAnnotations()[v1alpha1.SkipDrainAnnotation] != "true" {
		if err := r.drain(ctx, entry, object, heldBy(object)); err != nil {
			entry.setDeleting(object)
			return err
		}
	}
	return r.free(ctx, object)
}

// heldBy are the types of which parents may be held. The status that tells them may have
// been lost when the object was restored from a file.
func heldBy(object declared) []v1alpha1.ResourceRule {
	rules := object.ParentTypes()
	return append(rules, others(object.GetStatus().HeldResources, rules)...)
}

// drain takes the finalizer of a controller off all parents of some types.
func (r *Reconciler) drain(ctx context.Context, entry *controllerEntry, object declared, held []v1alpha1.ResourceRule) error {
	turn, cancel := context.WithTimeout(ctx, drainTurn)
	defer cancel()
	for _, rule := range held {
		klog.FromContext(ctx).Info("Taking the finalizer off parents", "controller", object.GetName(), "apiVersion", rule.APIVersion, "resource", rule.Resource)
		err := r.drainer.Drain(turn, rule.APIVersion, rule.Resource, r.kind.Finalizer(object.GetName()))
		if err == nil {
			continue
		}
		if turn.Err() != nil {
			return errTurnOver
		}
		return r.cannotLetGo(entry, object, rule, err)
	}
	entry.setUndrained(nil)
	return nil
}

// cannotLetGo notes and returns why parents of a type are not let go.
func (r *Reconciler) cannotLetGo(entry *controllerEntry, object declared, rule v1alpha1.ResourceRule, err error) error {
	err = fmt.Errorf("let go of %s of %s: %w", rule.Resource, rule.APIVersion, err)
	if entry.setUndrained(err) {
		r.Events.DrainError(object, err)
	}
	return err
}

// errTurnOver tells that there are more parents to drain than one turn could.
var errTurnOver = errors.New("there are more parents to let go of")

// others are those of the rules whose objects none of known names, in no version.
func others(rules, known []v1alpha1.ResourceRule) []v1alpha1.ResourceRule {
	return slices.DeleteFunc(slices.Clone(rules), func(rule v1alpha1.ResourceRule) bool {
		return slices.ContainsFunc(known, func(other v1alpha1.ResourceRule) bool { return sameResource(rule, other) })
	})
}

func sameResource(a, b v1alpha1.ResourceRule) bool { return groupResourceOf(a) == groupResourceOf(b) }

func groupResourceOf(rule v1alpha1.ResourceRule) schema.GroupResource {
	version, _ := schema.ParseGroupVersion(rule.APIVersion) // one that is none was never run
	return schema.GroupResource{Group: version.Group, Resource: rule.Resource}
}
