// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

func validateLabelSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := validateKeys(selector.MatchLabels, path.Child("matchLabels"))
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		value := selector.MatchLabels[key]
		for _, message := range validation.IsValidLabelValue(value) {
			errs = append(errs, field.Invalid(path.Child("matchLabels").Key(key), value, message))
		}
	}
	return append(errs, validateExpressions(selector.MatchExpressions, false, path.Child("matchExpressions"))...)
}

// validateAnnotationSelector checks what a label selector is checked for, except that values may be any text, as annotations
// may.
func validateAnnotationSelector(selector *metacontroller.AnnotationSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := validateKeys(selector.MatchAnnotations, path.Child("matchAnnotations"))
	return append(errs, validateExpressions(selector.MatchExpressions, true, path.Child("matchExpressions"))...)
}

func validateKeys(values map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(values)) {
		errs = append(errs, metav1validation.ValidateLabelName(key, path)...)
	}
	return errs
}

func validateExpressions(expressions []metav1.LabelSelectorRequirement, anyValue bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	options := metav1validation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: anyValue, AllowUnknownOperatorInRequirement: true}
	for i, expression := range expressions {
		path := path.Index(i)
		switch expression.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		default:
			errs = append(errs, field.NotSupported(path.Child("operator"), expression.Operator, []metav1.LabelSelectorOperator{
				metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
			}))
		}
		errs = append(errs, metav1validation.ValidateLabelSelectorRequirement(expression, options, path)...)
	}
	return errs
}
