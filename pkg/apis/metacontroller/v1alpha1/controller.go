// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// DrainFinalizer is the finalizer of every CompositeController and DecoratorController with a
	// finalize hook. It keeps a controller that is being deleted until the controller's own
	// finalizer is off all objects that carry it. Without the controller, these objects could never
	// be deleted.
	DrainFinalizer = GroupName + "/drain"

	// SkipDrainAnnotation, with the value "true" on a controller, lets it be deleted at once. Its
	// finalizer stays on the objects that carry it, and has to be removed by other means. The
	// annotation works before and after the deletion.
	SkipDrainAnnotation = GroupName + "/skip-drain"
	// PausedAnnotation has all controllers leave a parent alone if it is "true".
	PausedAnnotation = GroupName + "/paused"
	// HoldAnnotation on the APIService of the group has no controller of the server run. Its value says why. "false"
	// counts as absent.
	HoldAnnotation = GroupName + "/hold"

	// MovedAnnotation on the APIService of the group is "true" once the objects of Metacontroller's
	// CustomResourceDefinitions have been moved to the server.
	MovedAnnotation = GroupName + "/moved"

	// CompositeFinalizerPrefix and DecoratorFinalizerPrefix, with the name of the controller after
	// them, are the finalizers that controllers put on their parents. They are Metacontroller's, and
	// are stored in users' clusters.
	CompositeFinalizerPrefix = "metacontroller.io/compositecontroller-"
	DecoratorFinalizerPrefix = "metacontroller.io/decoratorcontroller-"
)

// GroupResource returns the type that a rule names, without the version.
func (r ResourceRule) GroupResource() schema.GroupResource {
	group, _, found := strings.Cut(r.APIVersion, "/")
	if !found {
		group = ""
	}
	return schema.GroupResource{Group: group, Resource: r.Resource}
}

// Username returns the name of the ServiceAccount as a user of the cluster.
func (r ServiceAccountReference) Username() string {
	return "system:serviceaccount:" + r.Namespace + ":" + r.Name
}

// ParentTypes returns the types of the objects that the controller is for, each once.
func (c *CompositeController) ParentTypes() []ResourceRule {
	return []ResourceRule{c.Spec.ParentResource.ResourceRule}
}

// ChildTypes returns the types of the objects that the controller manages.
func (c *CompositeController) ChildTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range c.Spec.ChildResources {
		types = append(types, rule.ResourceRule)
	}
	return types
}

// GetSpec returns the spec, which must not be changed.
func (c *CompositeController) GetSpec() any { return &c.Spec }

// GetAccess returns as whom the controller acts and what it may reach. It must not be changed.
func (c *CompositeController) GetAccess() *Access { return &c.Spec.Access }

// GetStatus returns the status, which may be changed.
func (c *CompositeController) GetStatus() *ControllerStatus { return &c.Status }

// ParentTypes returns the types of the objects that the controller is for, each once.
func (d *DecoratorController) ParentTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range d.Spec.Resources {
		if !slices.Contains(types, rule.ResourceRule) {
			types = append(types, rule.ResourceRule)
		}
	}
	return types
}

// ChildTypes returns the types of the objects that the controller manages.
func (d *DecoratorController) ChildTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range d.Spec.Attachments {
		types = append(types, rule.ResourceRule)
	}
	return types
}

// GetSpec returns the spec, which must not be changed.
func (d *DecoratorController) GetSpec() any { return &d.Spec }

// GetAccess returns as whom the controller acts and what it may reach. It must not be changed.
func (d *DecoratorController) GetAccess() *Access { return &d.Spec.Access }

// GetStatus returns the status, which may be changed.
func (d *DecoratorController) GetStatus() *ControllerStatus { return &d.Status }
