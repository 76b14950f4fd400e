// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

func validateLabelSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// validateAnnotationSelector checks what a label selector is checked for, except that values may be any text, as annotations
// may.
func validateAnnotationSelector(selector *metacontroller.AnnotationSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector.MatchAnnotations)) {
		errs = append(errs, metav1validation.ValidateLabelName(key, path.Child("matchAnnotations"))...)
	}
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: true}
	for i, expression := range selector.MatchExpressions {
		errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(expression, options, path.Child("matchExpressions").Index(i))...)
	}
	return errs
}
