// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Parent begins the snapshot of a parent with the parent from the cache. It returns nil if the
// parent is gone or the controller does not handle it. Claim adds the children.
func (o *Observer) Parent(key object.Key) *pipeline.Snapshot {
	parent := o.Get(key)
	if parent == nil {
		return nil
	}
	return o.ParentAs(parent)
}

// ParentAs is Parent for a parent as the host has just stored it, which the cache may not show
// yet.
func (o *Observer) ParentAs(parent *object.Object) *pipeline.Snapshot {
	target := o.target(parent.GroupVersionKind().GroupKind())
	if !o.handles(target, parent) {
		return nil
	}
	alive := parent.DeletionTimestamp == nil
	schemasVersion := o.Schemas.currentVersion() // first: a later schema must not count as an earlier one
	within := o.isWithin(parent)
	needsFinalizer := o.Finalizes && within && (alive || o.hasFinalizer(parent))
	return &pipeline.Snapshot{
		ParentType:     target.View.Type,
		ParentSchema:   o.Schemas.of(target.View.Type),
		SchemasVersion: schemasVersion,
		Parent:         parent,
		ForeignStatus:  target.ForeignStatus,
		Finalizer:      o.Finalizer,
		NeedsFinalizer: needsFinalizer,
		Finalizing:     o.Finalizes && within && (!alive || !target.selects(parent)),
		Managed:        within && (alive || needsFinalizer && !isLeftToGarbageCollector(parent)),
		Outside:        !within,
	}
}

// Handles reports whether the controller handles an object of any kind.
func (o *Observer) Handles(object *object.Object) bool {
	target := o.target(object.GroupVersionKind().GroupKind())
	return target != nil && o.handles(target, object)
}

// handles reports whether the controller handles an object of a target: its rules select it in one of its
// namespaces, or its finalizer is still on it from the time when they did.
func (o *Observer) handles(target *Target, parent *object.Object) bool {
	return o.isWithin(parent) && target.selects(parent) || o.hasFinalizer(parent)
}

func (o *Observer) hasFinalizer(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, o.Finalizer)
}

// isLeftToGarbageCollector reports whether the host's garbage collector decides what becomes of
// the children of a parent that is being deleted.
func isLeftToGarbageCollector(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, metav1.FinalizerDeleteDependents) ||
		slices.Contains(parent.Finalizers, metav1.FinalizerOrphanDependents)
}
