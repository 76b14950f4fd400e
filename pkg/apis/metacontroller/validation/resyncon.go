// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func validateResyncOn(objects []v1alpha1.WatchedObject, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range objects {
		object, at := &objects[i], at.Index(i)
		errs = append(errs, validateResourceRule(&object.ResourceRule, at)...)
		if object.Namespace != "" {
			errs = append(errs, validateNamespace(object.Namespace, "is the name of a namespace", at.Child("namespace"))...)
		}
		if object.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), "is the name of the object"))
		} else if len(content.IsPathSegmentName(object.Name)) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), object.Name, "must be the name of an object"))
		}
	}
	return errs
}
