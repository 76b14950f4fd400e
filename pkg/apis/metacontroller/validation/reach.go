// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// maxReach is how many types times namespaces a controller may have. The cluster is asked for rights
// to each type in each namespace: of the author at admission, and of the service account for as long as
// the controller runs.
const maxReach = 1024

// reach are the namespaces of a controller, and the types of the spec, which are in the fields.
type reach struct {
	types, namespaces int
	fields            string
}

func compositeControllerReach(controller *v1alpha1.CompositeController) reach {
	spec := &controller.Spec
	return reach{
		types:      1 + len(spec.ChildResources) + len(spec.RelatedResources),
		namespaces: len(spec.Namespaces),
		fields:     "spec.parentResource, spec.childResources and spec.relatedResources",
	}
}

func decoratorControllerReach(controller *v1alpha1.DecoratorController) reach {
	spec := &controller.Spec
	return reach{
		types:      len(spec.Resources) + len(spec.Attachments) + len(spec.RelatedResources),
		namespaces: len(spec.Namespaces),
		fields:     "spec.resources, spec.attachments and spec.relatedResources",
	}
}

func (r reach) size() int { return r.types * r.namespaces }

// tooWide returns the error of a reach that is too wide.
func tooWide(r reach) field.ErrorList {
	if r.size() <= maxReach {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "namespaces"), fmt.Sprintf(
		"%d namespaces times %d types (%s) are %d, and at most %d are possible; use several controllers",
		r.namespaces, r.types, r.fields, r.size(), maxReach))}
}

// grownTooWide returns the error of an updated reach that is too wide and wider than the stored one.
func grownTooWide(updated, stored reach) field.ErrorList {
	if updated.size() <= stored.size() {
		return nil
	}
	return tooWide(updated)
}
