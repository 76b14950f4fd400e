// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decoratorcontroller

import (
	"slices"

	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
)

// newTable returns the table of DecoratorControllers. Its columns are those of package resource, in
// controllercolumns.go.
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
