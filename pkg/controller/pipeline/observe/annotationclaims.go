// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// AnnotationClaims finds the attachments of a DecoratorController's targets: the objects that a
// target controls and that have the controller's name in an annotation. It adopts no orphans and
// releases nothing.
type AnnotationClaims struct {
	// Name is the name of the DecoratorController.
	Name string
}

// Prepare adds the annotation of attachments to the snapshot.
func (c AnnotationClaims) Prepare(snapshot *pipeline.Snapshot) error {
	snapshot.Selector = labels.Everything()
	snapshot.GeneratedAnnotations = map[string]string{object.DecoratorAnnotation: c.Name}
	return nil
}

// Claim returns the attachments of a type.
func (c AnnotationClaims) Claim(snapshot *pipeline.Snapshot, view *cache.View) pipeline.Group {
	parent := snapshot.Parent
	controlled := view.ControlledBy(parent.UID)
	group := pipeline.Group{Type: view.Type, Claimed: make([]*object.Object, 0, len(controlled))}
	for _, child := range controlled {
		if c.MayClaim(child) && (parent.Namespace == "" || child.Namespace == parent.Namespace) {
			group.Claimed = append(group.Claimed, child)
			if parent.DeletionTimestamp == nil && namesOtherVersion(child, snapshot.ParentType) {
				group.Adopt = append(group.Adopt, child)
			}
		}
	}
	slices.SortFunc(group.Claimed, byName)
	slices.SortFunc(group.Adopt, byName)
	return group
}

// MayClaim reports whether an object is an attachment of this controller.
func (c AnnotationClaims) MayClaim(child *object.Object) bool {
	return child.Annotations[object.DecoratorAnnotation] == c.Name
}

// MayAdopt returns false: targets do not adopt orphans.
func (c AnnotationClaims) MayAdopt(*object.Object) bool { return false }

// Adopters returns none.
func (c AnnotationClaims) Adopters(*cache.View, *object.Object) []*object.Object { return nil }

// Adopts returns false.
func (c AnnotationClaims) Adopts(_, _ *object.Object) bool { return false }

// Forget does nothing: nothing is cached.
func (c AnnotationClaims) Forget(object.Key) {}

// Fresh returns the claims themselves.
func (c AnnotationClaims) Fresh() Claims { return c }

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

// NewAnnotationSelector returns a selector for annotations that have these values and meet these expressions.
// The error names the expression that is not valid.
func NewAnnotationSelector(
	match map[string]string, expressions []v1alpha1.LabelSelectorRequirement,
) (AnnotationSelector, error) {
	var selector AnnotationSelector
	for key, value := range match {
		requirement := annotationRequirement{key, metav1.LabelSelectorOpIn, []string{value}}
		selector.requirements = append(selector.requirements, requirement)
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
			return selector, fmt.Errorf("annotation %q: %q is not a valid label selector operator; "+
				"valid are In, NotIn, Exists and DoesNotExist",
				expression.Key, expression.Operator)
		}
		requirement := annotationRequirement{expression.Key, expression.Operator, expression.Values}
		selector.requirements = append(selector.requirements, requirement)
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
