// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Observer observes the parents of one controller and their children.
type Observer struct {
	// Targets are the types of the parents, each kind once.
	Targets []*Target
	// Children are the views of the child types.
	Children []*cache.View
	// Claims decides which objects are children of which parent.
	Claims Claims
	// Finalizer is the controller's finalizer.
	Finalizer string
	// Finalizes is true if the controller has a finalize hook, and so puts its finalizer on
	// its parents.
	Finalizes bool
	// Namespaces are those of the parents and children that the controller handles.
	Namespaces object.Namespaces
	// Schemas are the schemas of the types of parents and children.
	Schemas *Schemas
}

// Claim adds the parent's children to the snapshot. An error means that the parent's selector is
// not usable.
func (o *Observer) Claim(snapshot *pipeline.Snapshot) error {
	err := o.Claims.Prepare(snapshot)
	if key := object.KeyOf(snapshot.Parent); o.Get(key) == nil {
		o.Claims.Forget(key) // the parent has been deleted in the meantime
	}
	if err != nil {
		return err
	}
	snapshot.Children = make([]pipeline.Group, len(o.Children))
	for i, view := range o.Children {
		snapshot.Children[i] = o.Claims.Claim(snapshot, view)
		snapshot.Children[i].Schema = o.Schemas.of(view.Type)
	}
	return nil
}

// Get returns an object of a parents' type from the cache, whether the controller handles it or
// not. It returns nil if there is none.
func (o *Observer) Get(parent object.Key) *object.Object {
	target := o.target(parent.GroupKind)
	if target == nil {
		return nil
	}
	return target.View.Get(parent.NamespacedName)
}

// target returns the target of a kind, nil if the kind is not one of parents.
func (o *Observer) target(kind schema.GroupKind) *Target {
	i := slices.IndexFunc(o.Targets, func(target *Target) bool { return target.View.Type.GroupKind() == kind })
	if i < 0 {
		return nil
	}
	return o.Targets[i]
}

// Parents returns the parents of the controller that the caches show.
func (o *Observer) Parents() []*object.Object {
	var parents []*object.Object
	for _, target := range o.Targets {
		for _, parent := range target.View.List() {
			if o.handles(target, parent) {
				parents = append(parents, parent)
			}
		}
	}
	return parents
}

// CountChange returns by how many the number of parents grows with a change of an object of a
// parents' type: one, zero or minus one. Before is nil if the object is new, after is nil if it
// is gone.
func (o *Observer) CountChange(before, after *object.Object) int {
	count := func(parent *object.Object) int {
		if parent == nil {
			return 0
		}
		if target := o.target(parent.GroupVersionKind().GroupKind()); target == nil || !o.handles(target, parent) {
			return 0
		}
		return 1
	}
	return count(after) - count(before)
}
