// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe reads from the host's caches what a sync needs to know. It never
// asks the host itself.
package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Observer observes the parents of one controller and their children.
type Observer struct {
	// Targets are the types of parents, each kind once.
	Targets []*Target
	// Children are the watches of the child types.
	Children []*host.Watch
	// Claims tells whose the children are.
	Claims Claims
	// Finalizer is the finalizer by which the controller holds its parents, and
	// Finalizes tells whether it does: whether there is a finalize hook.
	Finalizer string
	Finalizes bool
	// Schemas are what the host publishes of the child types.
	Schemas *Schemas
}

// Claims tells which objects are the children of which parent.
type Claims interface {
	// Prepare completes the snapshot with what children are known by. An error means that
	// the parent does not say it in a usable way.
	Prepare(snapshot *pipeline.Snapshot) error
	// Claim decides which objects of a type are the children of the snapshot's parent.
	Claim(snapshot *pipeline.Snapshot, watch *host.Watch) pipeline.Group
	// MayClaim tells whether an object that a parent controls may be a child.
	MayClaim(child *object.Object) bool
	// MayAdopt tells whether there may be a parent that the orphan is to become a child of,
	// and Adopts whether the parent is one.
	MayAdopt(orphan *object.Object) bool
	Adopts(parent, orphan *object.Object) bool
	// Forget drops what is known of a parent that is gone.
	Forget(parent pipeline.Key)
}

// Claim completes the snapshot with the parent's children. An error means that the parent
// does not say in a usable way which they are.
func (o *Observer) Claim(snapshot *pipeline.Snapshot) error {
	err := o.Claims.Prepare(snapshot)
	if key := pipeline.KeyOf(snapshot.Parent); o.Get(key) == nil {
		o.Claims.Forget(key) // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	snapshot.Children = make([]pipeline.Group, len(o.Children))
	for i, watch := range o.Children {
		snapshot.Children[i] = o.Claims.Claim(snapshot, watch)
		snapshot.Children[i].Schema = o.Schemas.of(watch.Type)
	}
	return nil
}

// Get returns a parent as the cache shows it, whether it is for this controller or not. It
// is nil if there is none.
func (o *Observer) Get(parent pipeline.Key) *object.Object {
	target := o.target(parent.GroupKind)
	if target == nil {
		return nil
	}
	return target.Watch.Get(parent.NamespacedName)
}

// target is that of a kind of parents, nil if there is none.
func (o *Observer) target(kind schema.GroupKind) *Target {
	i := slices.IndexFunc(o.Targets, func(target *Target) bool { return target.Watch.Type.GroupKind() == kind })
	if i < 0 {
		return nil
	}
	return o.Targets[i]
}

// Parents are the parents of the controller that the caches show.
func (o *Observer) Parents() []*object.Object {
	var parents []*object.Object
	for _, target := range o.Targets {
		for _, parent := range target.Watch.List() {
			if o.handles(target, parent) {
				parents = append(parents, parent)
			}
		}
	}
	return parents
}

// CountChange is by how many a change of an object of a parents' type makes the parents more: one, none
// or minus one. Before or after is nil of an object that was not there or is gone.
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
