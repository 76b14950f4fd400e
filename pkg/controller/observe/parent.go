// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Parent begins the snapshot of a parent as the cache shows it. It is nil if the
// parent is gone or not for this controller.
func (c *Composite) Parent(name types.NamespacedName) *stage.Snapshot {
	parent := c.Parents.Get(name)
	if parent == nil {
		return nil
	}
	return c.ParentAs(parent)
}

// ParentAs begins the snapshot of a parent as the host has just stored it. It is nil
// if the parent is not for this controller.
func (c *Composite) ParentAs(parent *object.Object) *stage.Snapshot {
	if !c.Concerns(parent) {
		return nil
	}
	alive := parent.DeletionTimestamp == nil
	held := c.Finalizes && (alive || c.holds(parent))
	return &stage.Snapshot{
		ParentType:    c.Parents.Type,
		Parent:        parent,
		ForeignStatus: c.ForeignStatus,
		Finalizer:     c.Finalizer,
		Held:          held,
		Finalizing:    c.Finalizes && (!alive || !c.Selected(parent)),
		Managed:       alive || held && !collected(parent),
	}
}

// Concerns tells whether the controller has to do with the parent: it is for it, or
// has held it since it was.
func (c *Composite) Concerns(parent *object.Object) bool {
	return c.Selected(parent) || c.holds(parent)
}

// Selected tells whether the controller is for the parent.
func (c *Composite) Selected(parent *object.Object) bool {
	return c.ParentSelector.Matches(labels.Set(parent.Labels))
}

func (c *Composite) holds(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, c.Finalizer)
}

// collected tells whether the host's garbage collector is to decide what becomes of
// the children of a parent that is being deleted.
func collected(parent *object.Object) bool {
	return slices.Contains(parent.Finalizers, metav1.FinalizerDeleteDependents) ||
		slices.Contains(parent.Finalizers, metav1.FinalizerOrphanDependents)
}
