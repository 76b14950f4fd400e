// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Parent begins the snapshot of a parent as the cache shows it. It is nil if the
// parent is gone or not for this controller.
func (o *Observer) Parent(key pipeline.Key) *pipeline.Snapshot {
	parent := o.Get(key)
	if parent == nil {
		return nil
	}
	return o.ParentAs(parent)
}

// ParentAs begins the snapshot of a parent as the host has just stored it. It is nil
// if the parent is not for this controller.
func (o *Observer) ParentAs(parent *object.Object) *pipeline.Snapshot {
	target := o.target(parent.GroupVersionKind().GroupKind())
	if !o.handles(target, parent) {
		return nil
	}
	alive := parent.DeletionTimestamp == nil
	held := o.Finalizes && (alive || o.hasFinalizer(parent))
	return &pipeline.Snapshot{
		ParentType:     target.Watch.Type,
		Parent:         parent,
		ForeignStatus:  target.ForeignStatus,
		Finalizer:      o.Finalizer,
		NeedsFinalizer: held,
		Finalizing:     o.Finalizes && (!alive || !target.selects(parent)),
		Managed:        alive || held && !isLeftToGarbageCollector(parent),
	}
}

// handles tells whether the controller has to do with the parent: it is for it, or
// has held it since it was.
func (o *Observer) handles(target *Target, parent *object.Object) bool {
	return target.selects(parent) || o.hasFinalizer(parent)
}

func (o *Observer) hasFinalizer(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, o.Finalizer)
}

// isLeftToGarbageCollector tells whether the host's garbage collector is to decide what becomes of
// the children of a parent that is being deleted.
func isLeftToGarbageCollector(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, metav1.FinalizerDeleteDependents) ||
		slices.Contains(parent.Finalizers, metav1.FinalizerOrphanDependents)
}
