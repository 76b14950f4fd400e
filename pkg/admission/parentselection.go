// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// selects reports whether a rule selects an object of its resource, as the controllers decide it. A
// selector that is invalid selects everything.
func (t *typeRule) selects(object *metav1.PartialObjectMetadata) bool {
	return !slices.ContainsFunc(requirements(t.selector), func(r labels.Requirement) bool { return !r.Matches(labels.Set(object.Labels)) }) &&
		selectsAnnotations(t.annotations, object.Annotations)
}

// selectsAnnotations reports whether a selector matches annotations. Unlike in labels, keys and values
// may be any text.
func selectsAnnotations(selector *metacontroller.AnnotationSelector, annotations map[string]string) bool {
	if selector == nil {
		return true
	}
	for key, wanted := range selector.MatchAnnotations {
		if value, present := annotations[key]; !present || value != wanted {
			return false
		}
	}
	return !slices.ContainsFunc(selector.MatchExpressions, func(expression metav1.LabelSelectorRequirement) bool {
		value, present := annotations[expression.Key]
		switch expression.Operator {
		case metav1.LabelSelectorOpIn:
			return !present || !slices.Contains(expression.Values, value)
		case metav1.LabelSelectorOpNotIn:
			return present && slices.Contains(expression.Values, value)
		case metav1.LabelSelectorOpExists:
			return !present
		case metav1.LabelSelectorOpDoesNotExist:
			return present
		}
		return false
	})
}
