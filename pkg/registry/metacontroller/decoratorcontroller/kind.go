// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decoratorcontroller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

type decoratorController = v1alpha1.DecoratorController

// NewStorage returns the REST storage of DecoratorControllers and of their status subresource.
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*resource.Storage, error) {
	return resource.NewStorage(kind(), scheme, optsGetter)
}

// kind returns what is particular to DecoratorControllers.
func kind() resource.Kind[decoratorController, *decoratorController] {
	return resource.Kind[decoratorController, *decoratorController]{
		Resource:      "decoratorcontrollers",
		Singular:      "decoratorcontroller",
		ShortNames:    []string{"dec", "decorators"},
		Version:       v1alpha1.SchemeGroupVersion,
		NewList:       func() runtime.Object { return &v1alpha1.DecoratorControllerList{} },
		ContentFields: []string{"spec"},
		Content:       func(controller *decoratorController) any { return &controller.Spec },
		Status: func(controller *decoratorController) *v1alpha1.ControllerStatus {
			return &controller.Status
		},
		Validate:             validation.ValidateDecoratorController,
		ValidateUpdate:       validation.ValidateDecoratorControllerUpdate,
		ValidateStatusUpdate: validation.ValidateControllerStatusUpdate,
		Warnings:             validation.DecoratorControllerWarnings,
		Table:                newTable(),
	}
}

// newTable returns the table of DecoratorControllers. Its columns are in resource/controllertable.go.
func newTable() rest.TableConvertor {
	return resource.NewControllerTable(func(controller *v1alpha1.DecoratorController) resource.Controller {
		shown := resource.Controller{
			ResyncPeriodSeconds: controller.Spec.ResyncPeriodSeconds,
			Status:              &controller.Status,
		}
		for _, target := range controller.Spec.Resources {
			if !slices.Contains(shown.Parents, target.ResourceRule) {
				shown.Parents = append(shown.Parents, target.ResourceRule)
			}
		}
		for _, attachment := range controller.Spec.Attachments {
			shown.Children = append(shown.Children, attachment.ResourceRule)
		}
		if hooks := controller.Spec.Hooks; hooks != nil {
			shown.Sync = hooks.Sync
		}
		return shown
	})
}
