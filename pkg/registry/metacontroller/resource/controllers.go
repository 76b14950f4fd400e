// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
)

type (
	compositeController = v1alpha1.CompositeController
	decoratorController = v1alpha1.DecoratorController
)

// NewCompositeControllers returns the REST storage of CompositeControllers and of their status subresource.
func NewCompositeControllers(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*Storage, error) {
	return newStorage(compositeControllers(), scheme, optsGetter)
}

// NewDecoratorControllers returns the REST storage of DecoratorControllers and of their status subresource.
func NewDecoratorControllers(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*Storage, error) {
	return newStorage(decoratorControllers(), scheme, optsGetter)
}

// compositeControllers returns the kind CompositeController.
func compositeControllers() kind[compositeController, *compositeController] {
	return controllers(kind[compositeController, *compositeController]{
		resource:       "compositecontrollers",
		singular:       "compositecontroller",
		shortNames:     []string{"cc", "cctl"},
		newList:        func() runtime.Object { return &v1alpha1.CompositeControllerList{} },
		content:        func(of *compositeController) any { return &of.Spec },
		status:         func(of *compositeController) *v1alpha1.ControllerStatus { return &of.Status },
		validate:       validation.ValidateCompositeController,
		validateUpdate: validation.ValidateCompositeControllerUpdate,
		warnings:       validation.CompositeControllerWarnings,
	}, func(of *compositeController) controllerRow {
		row := controllerRow{
			parents:             []v1alpha1.ResourceRule{of.Spec.ParentResource.ResourceRule},
			resyncPeriodSeconds: of.Spec.ResyncPeriodSeconds,
			status:              &of.Status,
		}
		for _, child := range of.Spec.ChildResources {
			row.children = append(row.children, child.ResourceRule)
		}
		if hooks := of.Spec.Hooks; hooks != nil {
			row.sync = hooks.Sync
		}
		return row
	})
}

// decoratorControllers returns the kind DecoratorController.
func decoratorControllers() kind[decoratorController, *decoratorController] {
	return controllers(kind[decoratorController, *decoratorController]{
		resource:       "decoratorcontrollers",
		singular:       "decoratorcontroller",
		shortNames:     []string{"dec", "decorators"},
		newList:        func() runtime.Object { return &v1alpha1.DecoratorControllerList{} },
		content:        func(of *decoratorController) any { return &of.Spec },
		status:         func(of *decoratorController) *v1alpha1.ControllerStatus { return &of.Status },
		validate:       validation.ValidateDecoratorController,
		validateUpdate: validation.ValidateDecoratorControllerUpdate,
		warnings:       validation.DecoratorControllerWarnings,
	}, func(of *decoratorController) controllerRow {
		row := controllerRow{resyncPeriodSeconds: of.Spec.ResyncPeriodSeconds, status: &of.Status}
		for _, target := range of.Spec.Resources {
			if !slices.Contains(row.parents, target.ResourceRule) {
				row.parents = append(row.parents, target.ResourceRule)
			}
		}
		for _, attachment := range of.Spec.Attachments {
			row.children = append(row.children, attachment.ResourceRule)
		}
		if hooks := of.Spec.Hooks; hooks != nil {
			row.sync = hooks.Sync
		}
		return row
	})
}

// controllers adds the properties that both kinds of controllers have in common to a kind.
func controllers[T any, O apiObject[T]](of kind[T, O], row func(O) controllerRow) kind[T, O] {
	of.contentFields = []string{"spec"}
	of.validateStatusUpdate = validation.ValidateControllerStatusUpdate
	of.table = newControllerTable(row)
	return of
}
