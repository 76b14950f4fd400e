// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package compositecontroller

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/validation"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

type compositeController = v1alpha1.CompositeController

// NewStorage returns the REST storage of CompositeControllers and of their status subresource.
func NewStorage(scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter) (*resource.Storage, error) {
	return resource.NewStorage(kind(), scheme, optsGetter)
}

// kind returns what is particular to CompositeControllers.
func kind() resource.Kind[compositeController, *compositeController] {
	return resource.Kind[compositeController, *compositeController]{
		Resource:      "compositecontrollers",
		Singular:      "compositecontroller",
		ShortNames:    []string{"cc", "cctl"},
		Version:       v1alpha1.SchemeGroupVersion,
		NewList:       func() runtime.Object { return &v1alpha1.CompositeControllerList{} },
		ContentFields: []string{"spec"},
		Content:       func(controller *compositeController) any { return &controller.Spec },
		Status: func(controller *compositeController) *v1alpha1.ControllerStatus {
			return &controller.Status
		},
		Validate:             validation.ValidateCompositeController,
		ValidateUpdate:       validation.ValidateCompositeControllerUpdate,
		ValidateStatusUpdate: validation.ValidateControllerStatusUpdate,
		Warnings:             validation.CompositeControllerWarnings,
		Table:                newTable(),
	}
}

// newTable returns the table of CompositeControllers. Its columns are in resource/controllertable.go.
func newTable() rest.TableConvertor {
	return resource.NewControllerTable(func(controller *v1alpha1.CompositeController) resource.Controller {
		shown := resource.Controller{
			Parents:             []v1alpha1.ResourceRule{controller.Spec.ParentResource.ResourceRule},
			ResyncPeriodSeconds: controller.Spec.ResyncPeriodSeconds,
			Status:              &controller.Status,
		}
		for _, child := range controller.Spec.ChildResources {
			shown.Children = append(shown.Children, child.ResourceRule)
		}
		if hooks := controller.Spec.Hooks; hooks != nil {
			shown.Sync = hooks.Sync
		}
		return shown
	})
}
