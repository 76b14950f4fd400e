// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Which event starts a sync of which parents:
//
//   - An event of an object of a parent type starts a sync of that object, unless Ignores returns true.
//   - An event of an object of a child type starts a sync of the parents that ParentsOf returns.
//     MayConcern rules out most events that do not concern a parent, without a look at the parents.
//   - An event of a related object: see package related.
//
// The parent controller registers the event handlers.

// Ignores reports whether an event of an object of a parent type does not start a sync: the controller does not
// handle the object and did not handle it before, or only the status has changed and the controller's rules
// ignore that. Before is nil if the object is new.
func (o *Observer) Ignores(before, after *object.Object) bool {
	target := o.target(after.GroupVersionKind().GroupKind())
	switch {
	case target == nil:
		return true // the kind differs from the one that the host has published for the type
	case o.handles(target, after):
		return onlyStatusChanged(before, after) && target.ignoresStatus(after)
	default:
		return before == nil || !o.handles(target, before)
	}
}

// onlyStatusChanged reports whether a controller that ignores status changes may ignore the change of a parent: it is
// the same object, it is not being deleted, and its generation, labels and annotations are unchanged. If its type has
// no generations, all of its content except the status must be unchanged.
func onlyStatusChanged(before, after *object.Object) bool {
	return before != nil && after != nil && after.DeletionTimestamp == nil &&
		before.UID == after.UID && before.Generation == after.Generation &&
		(after.Generation != 0 || before.Hash == after.Hash) &&
		maps.Equal(before.Labels, after.Labels) &&
		maps.Equal(before.Annotations, after.Annotations)
}

// ParentsOf returns the parents to sync after an event of a child: the parent that controls or controlled it,
// and the parents that adopt it if it is an orphan. Before is nil if the child is new, after is nil if it is
// gone.
func (o *Observer) ParentsOf(before, after *object.Object) []object.Key {
	var parents []object.Key
	for _, child := range []*object.Object{before, after} {
		if parent := o.controllerOf(child); parent != nil {
			parents = append(parents, object.KeyOf(parent))
		}
	}
	if o.mayBeAdopted(after) {
		parents = append(parents, o.adopters(after)...)
	}
	return parents
}

// MayConcern reports whether an event of a child may concern parents. It looks only at the child. If it returns
// false, ParentsOf returns none.
func (o *Observer) MayConcern(before, after *object.Object) bool {
	return o.mayBeAdopted(after) || o.mayBeControlled(before) || o.mayBeControlled(after)
}

func (o *Observer) mayBeAdopted(child *object.Object) bool {
	return child != nil && metav1.GetControllerOfNoCopy(child) == nil && o.Claims.MayAdopt(child)
}

func (o *Observer) mayBeControlled(child *object.Object) bool {
	_, target := o.ownership(child)
	return target != nil
}

// ownership returns the owner reference of a child's controller, and the target for its type. The target is nil
// if the child has no controller, or one that is not of a parent type.
func (o *Observer) ownership(child *object.Object) (*metav1.OwnerReference, *Target) {
	if child == nil || !o.Claims.MayClaim(child) {
		return nil, nil
	}
	reference := metav1.GetControllerOfNoCopy(child)
	if reference == nil {
		return nil, nil
	}
	return reference, o.target(schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind())
}

// controllerOf returns the parent that controls a child, nil if no parent does.
func (o *Observer) controllerOf(child *object.Object) *object.Object {
	reference, target := o.ownership(child)
	if target == nil {
		return nil
	}
	name := types.NamespacedName{Name: reference.Name}
	if target.View.Type.Namespaced {
		name.Namespace = child.Namespace
	}
	parent := target.View.Get(name)
	if parent == nil || parent.UID != reference.UID {
		return nil
	}
	return parent
}

// adopters returns the parents that adopt an orphan.
func (o *Observer) adopters(orphan *object.Object) []object.Key {
	var adopters []object.Key
	for _, target := range o.Targets {
		for _, parent := range o.Claims.Adopters(target.View, orphan) {
			if o.handles(target, parent) && o.adopts(parent, orphan) {
				adopters = append(adopters, object.KeyOf(parent))
			}
		}
	}
	return adopters
}

// adopts reports whether a parent adopts the orphan. It removes a parent that was deleted in the meantime from
// the cache of the claims.
func (o *Observer) adopts(parent, orphan *object.Object) bool {
	adopts := o.Claims.Adopts(parent, orphan)
	if key := object.KeyOf(parent); o.Get(key) == nil {
		o.Claims.Forget(key)
	}
	return adopts
}
