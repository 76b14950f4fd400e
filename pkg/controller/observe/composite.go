// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe reads from the host's caches what a sync needs to know. It never
// asks the host itself.
package observe

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Composite observes the parents of one CompositeController and their children.
type Composite struct {
	// Parents and Children are the watches of the parent type and the child types.
	Parents  *host.Watch
	Children []*host.Watch
	// Finalizer is the finalizer by which the controller holds its parents, and
	// Finalizes tells whether it does: whether there is a finalize hook.
	Finalizer string
	Finalizes bool
	// ForeignStatus tells that the parent type does not come from a
	// CustomResourceDefinition.
	ForeignStatus bool
	// ParentSelector selects the parents the controller is for.
	ParentSelector labels.Selector
	// Selectors selects the children of a parent.
	Selectors *Selectors
	// Schemas are what the host publishes of the child types.
	Schemas *Schemas
}

// Claim completes the snapshot with the parent's children. An error means that the
// parent's selector is not usable.
func (c *Composite) Claim(snapshot *stage.Snapshot) error {
	parent := snapshot.Parent
	selector, err := c.selectorOf(parent)
	if err != nil {
		return err
	}
	snapshot.Selector = selector
	snapshot.GeneratedLabels = c.Selectors.Generated(parent)
	snapshot.Children = make([]stage.Group, len(c.Children))
	for i, watch := range c.Children {
		snapshot.Children[i] = claim(watch.Type, parent, selector,
			watch.ControlledBy(parent.UID), watch.Orphans(parent.Namespace))
		snapshot.Children[i].Schema = c.Schemas.of(watch.Type)
	}
	return nil
}
