// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// AnnotationSelector selects objects by their annotations. It works as a label selector
// does, except that keys and values may be any text. The zero value selects everything.
type AnnotationSelector struct {
	requirements []annotationRequirement
}

// annotationRequirement asks something of one annotation.
type annotationRequirement struct {
	key      string
	operator metav1.LabelSelectorOperator
	values   []string
}

// NewAnnotationSelector makes a selector of annotations that must have these values and of
// further expressions. The error names the expression that cannot be evaluated.
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

// Matches tells whether the annotations of an object are as the selector wants.
func (s AnnotationSelector) Matches(o *object.Object) bool {
	return !slices.ContainsFunc(s.requirements, func(r annotationRequirement) bool { return !r.holds(o) })
}

// holds is what a requirement of labels would be: an annotation that is not there is not
// among any values.
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
