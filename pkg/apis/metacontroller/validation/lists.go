// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Each item of these lists costs requests to the cluster: at admission, when the controller starts, and
// for as long as it runs.
const (
	maxTypes           = 256
	maxNamespaces      = 64
	maxEndpointConfigs = 64
	maxResyncOn        = 16
)

// list is a list of a spec that may not be long.
type list struct {
	path         *field.Path
	length, most int
}

func compositeControllerLists(controller *v1alpha1.CompositeController) []list {
	spec, path := &controller.Spec, field.NewPath("spec")
	return append(accessLists(&spec.Access, path),
		list{path.Child("childResources"), len(spec.ChildResources), maxTypes},
		list{path.Child("resyncOn"), len(spec.ResyncOn), maxResyncOn},
		list{path.Child("endpointConfigs"), len(spec.EndpointConfigs), maxEndpointConfigs})
}

func decoratorControllerLists(controller *v1alpha1.DecoratorController) []list {
	spec, path := &controller.Spec, field.NewPath("spec")
	return append(accessLists(&spec.Access, path),
		list{path.Child("resources"), len(spec.Resources), maxTypes},
		list{path.Child("attachments"), len(spec.Attachments), maxTypes},
		list{path.Child("resyncOn"), len(spec.ResyncOn), maxResyncOn},
		list{path.Child("endpointConfigs"), len(spec.EndpointConfigs), maxEndpointConfigs})
}

func accessLists(access *v1alpha1.Access, path *field.Path) []list {
	return []list{
		{path.Child("namespaces"), len(access.Namespaces), maxNamespaces},
		{path.Child("relatedResources"), len(access.RelatedResources), maxTypes},
	}
}

// tooLong returns the errors of lists that are too long.
func tooLong(lists []list) field.ErrorList {
	var errs field.ErrorList
	for _, list := range lists {
		if list.length > list.most {
			errs = append(errs, field.TooMany(list.path, list.length, list.most))
		}
	}
	return errs
}

// grownTooLong returns the errors of updated lists that are too long and longer than the stored ones.
func grownTooLong(updated, stored []list) field.ErrorList {
	var grown []list
	for i, list := range updated {
		if list.length > stored[i].length {
			grown = append(grown, list)
		}
	}
	return tooLong(grown)
}
