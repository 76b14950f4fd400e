// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// ValidateResyncRequest returns the errors of a request. Which parents there are is not looked up.
func ValidateResyncRequest(request *v1alpha1.ResyncRequest) field.ErrorList {
	at, spec := field.NewPath("spec"), &request.Spec
	switch {
	case spec.Parent == nil && spec.Parents == nil:
		return field.ErrorList{field.Required(at.Child("parent"), "or parents says which parents are synced; parents: {} is all of them")}
	case spec.Parent != nil && spec.Parents != nil:
		return field.ErrorList{field.Forbidden(at, "only one of parent and parents may be set")}
	case spec.Parent != nil:
		return validateReviewedParent(spec.Parent, at.Child("parent"))
	}
	return validateLabelSelector(spec.Parents.LabelSelector, at.Child("parents", "labelSelector"))
}
