// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func validateLabelSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		errs = append(errs, validateLabelKey(key, path.Child("matchLabels"))...)
		errs = append(errs, validateLabelValue(selector.MatchLabels[key], path.Child("matchLabels").Key(key))...)
	}
	for i, expression := range selector.MatchExpressions {
		path := path.Child("matchExpressions").Index(i)
		errs = append(errs, validateExpression(expression, path)...)
		errs = append(errs, validateLabelKey(expression.Key, path.Child("key"))...)
		for i, value := range expression.Values {
			errs = append(errs, validateLabelValue(value, path.Child("values").Index(i))...)
		}
	}
	return errs
}

// validateAnnotationSelector checks a selector by the rules of annotations: values are any text,
// and keys may have capitals in their domain.
func validateAnnotationSelector(selector *v1alpha1.AnnotationSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector.MatchAnnotations)) {
		errs = append(errs, validateAnnotationKey(key, path.Child("matchAnnotations"))...)
	}
	for i, expression := range selector.MatchExpressions {
		path := path.Child("matchExpressions").Index(i)
		errs = append(errs, validateExpression(expression, path)...)
		errs = append(errs, validateAnnotationKey(expression.Key, path.Child("key"))...)
	}
	return errs
}

// validateExpression checks that there are values if, and only if, the operator needs some.
func validateExpression(expression metav1.LabelSelectorRequirement, path *field.Path) field.ErrorList {
	switch expression.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(expression.Values) == 0 {
			return field.ErrorList{field.Required(path.Child("values"), "must have a value at least, for In and NotIn")}
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(expression.Values) > 0 {
			return field.ErrorList{field.Forbidden(path.Child("values"), "must be empty, for Exists and DoesNotExist")}
		}
	default:
		return field.ErrorList{field.NotSupported(path.Child("operator"), expression.Operator, []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
		})}
	}
	return nil
}

func validateLabelKey(key string, path *field.Path) field.ErrorList {
	return invalid(key, validation.IsQualifiedName(key), path)
}

func validateAnnotationKey(key string, path *field.Path) field.ErrorList {
	return invalid(key, validation.IsQualifiedName(strings.ToLower(key)), path)
}

func validateLabelValue(value string, path *field.Path) field.ErrorList {
	return invalid(value, validation.IsValidLabelValue(value), path)
}

func invalid(value string, messages []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
