// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Ignores tells whether a change of an object of a parents' type is to be passed over, since
// only its status has changed or the controller has nothing to do with it, and had not before.
func (o *Observer) Ignores(before, after *object.Object) bool {
	target := o.target(after.GroupVersionKind().GroupKind())
	switch {
	case target == nil:
		return true // the host sends other kinds than it says
	case o.handles(target, after):
		return onlyStatusChanged(before, after) && target.ignoresStatus(after)
	default:
		return before == nil || !o.handles(target, before)
	}
}

// onlyStatusChanged tells whether a change of a parent can be passed over by a
// controller that ignores status changes: its generation, labels and annotations are
// what they were, and it is not being deleted, nor another one of the same name. Where
// there are no generations, all that is not status counts.
func onlyStatusChanged(before, after *object.Object) bool {
	return before != nil && after != nil && after.DeletionTimestamp == nil &&
		before.UID == after.UID && before.Generation == after.Generation &&
		(after.Generation != 0 || before.Hash == after.Hash) &&
		maps.Equal(before.Labels, after.Labels) &&
		maps.Equal(before.Annotations, after.Annotations)
}

// ParentsOf returns the parents that a change of a child concerns: the one that
// controls or controlled it, and those that may adopt it now.
func (o *Observer) ParentsOf(before, after *object.Object) []pipeline.Key {
	var parents []pipeline.Key
	for _, child := range []*object.Object{before, after} {
		if parent := o.controllerOf(child); parent != nil {
			parents = append(parents, pipeline.KeyOf(parent))
		}
	}
	if o.mayBeAdopted(after) {
		parents = append(parents, o.adopters(after)...)
	}
	return parents
}

// MayConcern tells by a child alone whether its change may concern parents. Where it does not,
// there are no ParentsOf it.
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

// ownership returns what controls a child, and of which type of parents that is. The type is
// nil if it is none of ours.
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

// controllerOf returns the parent that controls a child, nil if none of ours does.
func (o *Observer) controllerOf(child *object.Object) *object.Object {
	reference, target := o.ownership(child)
	if target == nil {
		return nil
	}
	name := types.NamespacedName{Name: reference.Name}
	if target.Watch.Type.Namespaced {
		name.Namespace = child.Namespace
	}
	parent := target.Watch.Get(name)
	if parent == nil || parent.UID != reference.UID {
		return nil
	}
	return parent
}

// adopters returns the parents that an orphan is to become a child of.
func (o *Observer) adopters(orphan *object.Object) []pipeline.Key {
	var adopters []pipeline.Key
	for _, target := range o.Targets {
		for _, parent := range target.near(orphan) {
			if o.handles(target, parent) && o.adopts(parent, orphan) {
				adopters = append(adopters, pipeline.KeyOf(parent))
			}
		}
	}
	return adopters
}

// adopts asks whether a parent adopts the orphan, and leaves nothing behind of one that
// has been deleted meanwhile.
func (o *Observer) adopts(parent, orphan *object.Object) bool {
	adopts := o.Claims.Adopts(parent, orphan)
	if key := pipeline.KeyOf(parent); o.Get(key) == nil {
		o.Claims.Forget(key)
	}
	return adopts
}

// near returns the parents that could have the child by where it is.
func (t *Target) near(child *object.Object) []*object.Object {
	if t.Watch.Type.Namespaced {
		return t.Watch.In(child.Namespace)
	}
	return t.Watch.List()
}
