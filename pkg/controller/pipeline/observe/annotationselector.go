// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// AnnotationSelector selects objects by their annotations. It works like a label selector, except
// that keys and values may be any text. The zero value selects everything.
type AnnotationSelector struct {
	requirements []annotationRequirement
}

// annotationRequirement is a requirement on one annotation.
type annotationRequirement struct {
	key      string
	operator metav1.LabelSelectorOperator
	values   []string
}

// NewAnnotationSelector returns a selector for annotations with these values, and with further
// expressions. The error names the expression that cannot be evaluated.
func NewAnnotationSelector(match map[string]string, expressions []metav1.LabelSelectorRequirement) (AnnotationSelector, error) {
	var selector AnnotationSelector
	for key, value := range match {
		selector.requirements = append(selector.requirements, annotationRequirement{key, metav1.LabelSelectorOpIn, []string{value}})
	}
	for _, expression := range expressions {
		switch expression.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
			if len(expression.Values) == 0 {
				return selector, fmt.Errorf("annotation %q: operator %s needs values", expression.Key, expression.Operator)
			}
		case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
			if len(expression.Values) > 0 {
				return selector, fmt.Errorf("annotation %q: operator %s takes no values", expression.Key, expression.Operator)
			}
		default:
			return selector, fmt.Errorf("annotation %q: %q is not a valid label selector operator; valid are In, NotIn, Exists and DoesNotExist",
				expression.Key, expression.Operator)
		}
		selector.requirements = append(selector.requirements, annotationRequirement{expression.Key, expression.Operator, expression.Values})
	}
	return selector, nil
}

// Matches reports whether the selector matches the annotations of an object.
func (s AnnotationSelector) Matches(o *object.Object) bool {
	return !slices.ContainsFunc(s.requirements, func(r annotationRequirement) bool { return !r.holds(o) })
}

// holds reports whether an object meets the requirement. As for labels, a missing annotation
// meets NotIn.
func (r annotationRequirement) holds(o *object.Object) bool {
	value, present := o.Annotation(r.key)
	switch r.operator {
	case metav1.LabelSelectorOpIn:
		return present && slices.Contains(r.values, value)
	case metav1.LabelSelectorOpNotIn:
		return !present || !slices.Contains(r.values, value)
	case metav1.LabelSelectorOpExists:
		return present
	default:
		return !present
	}
}
