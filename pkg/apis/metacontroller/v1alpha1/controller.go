// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "slices"

// ParentTypes names the types of the objects that the controller is for, each once.
func (c *CompositeController) ParentTypes() []ResourceRule {
	return []ResourceRule{c.Spec.ParentResource.ResourceRule}
}

// ChildTypes names the types of the objects that the controller manages.
func (c *CompositeController) ChildTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range c.Spec.ChildResources {
		types = append(types, rule.ResourceRule)
	}
	return types
}

// GetSpec returns the spec, which must not be changed.
func (c *CompositeController) GetSpec() any { return &c.Spec }

// GetStatus returns the status, which may be changed.
func (c *CompositeController) GetStatus() *ControllerStatus { return &c.Status }

// ParentTypes names the types of the objects that the controller is for, each once.
func (d *DecoratorController) ParentTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range d.Spec.Resources {
		if !slices.Contains(types, rule.ResourceRule) {
			types = append(types, rule.ResourceRule)
		}
	}
	return types
}

// ChildTypes names the types of the objects that the controller manages.
func (d *DecoratorController) ChildTypes() []ResourceRule {
	var types []ResourceRule
	for _, rule := range d.Spec.Attachments {
		types = append(types, rule.ResourceRule)
	}
	return types
}

// GetSpec returns the spec, which must not be changed.
func (d *DecoratorController) GetSpec() any { return &d.Spec }

// GetStatus returns the status, which may be changed.
func (d *DecoratorController) GetStatus() *ControllerStatus { return &d.Status }
