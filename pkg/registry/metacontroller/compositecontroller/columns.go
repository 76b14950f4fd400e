// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package compositecontroller

import (
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// newTable returns the table of CompositeControllers. Its columns are those of package resource, in
// controllercolumns.go.
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
