// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe reads from the host's caches what a sync needs to know. It never
// asks the host itself.
package observe

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Composite observes the parents of one CompositeController and their children.
type Composite struct {
	// Parents and Children are the watches of the parent type and the child types.
	Parents  *host.Watch
	Children []*host.Watch
	// Finalizer is the finalizer by which the controller holds its parents.
	Finalizer string
	// ParentSelector selects the parents the controller is for.
	ParentSelector labels.Selector
	// Selectors selects the children of a parent.
	Selectors *Selectors
	// Schemas are what the host publishes of the child types.
	Schemas *Schemas
}

// Snapshot returns what there is of a parent and its children, or nil if the parent
// is gone or not for this controller. An error means that the parent's selector is
// not usable.
func (c *Composite) Snapshot(name types.NamespacedName) (*stage.Snapshot, error) {
	parent := c.Parents.Get(name)
	if parent == nil || !c.Selected(parent) {
		return nil, nil
	}
	selector, err := c.Selectors.Of(parent)
	if err != nil {
		return nil, err
	}
	snapshot := &stage.Snapshot{
		ParentType:      c.Parents.Type,
		Parent:          parent,
		Selector:        selector,
		GeneratedLabels: c.Selectors.Generated(parent),
		Finalizer:       c.Finalizer,
		Managed:         parent.DeletionTimestamp == nil,
		Children:        make([]stage.Group, len(c.Children)),
	}
	for i, watch := range c.Children {
		snapshot.Children[i] = claim(watch.Type, parent, selector,
			watch.ControlledBy(parent.UID), watch.Orphans(parent.Namespace))
		snapshot.Children[i].Schema = c.Schemas.of(watch.Type)
	}
	return snapshot, nil
}

// Selected tells whether the controller is for the parent.
func (c *Composite) Selected(parent *object.Object) bool {
	return c.ParentSelector.Matches(labels.Set(parent.Labels))
}
