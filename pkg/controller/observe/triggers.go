// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// OnlyStatusChanged tells whether a change of a parent can be passed over by a
// controller that ignores status changes: its generation, labels and annotations are
// what they were, and it is not being deleted. Where there are no generations, all that
// is not status counts.
func OnlyStatusChanged(before, after *object.Object) bool {
	return before != nil && after != nil && after.DeletionTimestamp == nil &&
		before.Generation == after.Generation &&
		(after.Generation != 0 || before.Hash == after.Hash) &&
		maps.Equal(before.Labels, after.Labels) &&
		maps.Equal(before.Annotations, after.Annotations)
}

// ParentsOf returns the parents that a change of a child concerns: the one that
// controls or controlled it, and those that may adopt it now.
func (c *Composite) ParentsOf(before, after *object.Object) []types.NamespacedName {
	var parents []types.NamespacedName
	for _, child := range []*object.Object{before, after} {
		if child == nil {
			continue
		}
		if parent := c.controllerOf(child); parent != nil {
			parents = append(parents, parent.Key())
		}
	}
	if after != nil && metav1.GetControllerOfNoCopy(after) == nil {
		parents = append(parents, c.adopters(after)...)
	}
	return parents
}

// controllerOf returns the parent that controls a child, nil if none of ours does.
func (c *Composite) controllerOf(child *object.Object) *object.Object {
	reference := metav1.GetControllerOfNoCopy(child)
	if reference == nil || schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind() != c.Parents.Type.GroupKind() {
		return nil
	}
	name := types.NamespacedName{Name: reference.Name}
	if c.Parents.Type.Namespaced {
		name.Namespace = child.Namespace
	}
	parent := c.Parents.Get(name)
	if parent == nil || parent.UID != reference.UID {
		return nil
	}
	return parent
}

// adopters returns the parents whose selector matches an orphan.
func (c *Composite) adopters(orphan *object.Object) []types.NamespacedName {
	if !c.Selectors.mayMatch(orphan) {
		return nil
	}
	var adopters []types.NamespacedName
	for _, parent := range c.parentsFor(orphan) {
		if !c.Concerns(parent) {
			continue
		}
		selector, err := c.selectorOf(parent)
		if err == nil && selector.Matches(labels.Set(orphan.Labels)) {
			adopters = append(adopters, parent.Key())
		}
	}
	return adopters
}

// parentsFor returns the parents that could have the child by where it is.
func (c *Composite) parentsFor(child *object.Object) []*object.Object {
	if c.Parents.Type.Namespaced {
		return c.Parents.In(child.Namespace)
	}
	return c.Parents.List()
}

// selectorOf returns the selector of a parent, and leaves nothing behind of one that
// has been deleted meanwhile.
func (c *Composite) selectorOf(parent *object.Object) (labels.Selector, error) {
	selector, err := c.Selectors.Of(parent)
	if c.Parents.Get(parent.Key()) == nil {
		c.Selectors.Forget(parent.Key())
	}
	return selector, err
}
