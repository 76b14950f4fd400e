// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Target is one type of parents.
type Target struct {
	Watch *cache.View
	// Rules tell which objects of the type are parents: those that any of them selects.
	Rules []Rule
	// ForeignStatus tells that the type does not come from a CustomResourceDefinition.
	ForeignStatus bool
}

// Rule selects parents of one type.
type Rule struct {
	Labels      labels.Selector
	Annotations AnnotationSelector
	// IgnoreStatusChanges passes over changes of a parent's status.
	IgnoreStatusChanges bool
}

func (r *Rule) selects(parent *object.Object) bool {
	return r.Labels.Matches(labels.Set(parent.Labels)) && r.Annotations.Matches(parent)
}

// selects tells whether the controller is for the parent.
func (t *Target) selects(parent *object.Object) bool {
	return slices.ContainsFunc(t.Rules, func(rule Rule) bool { return rule.selects(parent) })
}

// ignoresStatus tells whether changes of the parent's status are passed over: no rule that
// selects it wants to see them.
func (t *Target) ignoresStatus(parent *object.Object) bool {
	ignores := false
	for i := range t.Rules {
		rule := &t.Rules[i]
		if !rule.IgnoreStatusChanges && rule.selects(parent) {
			return false
		}
		ignores = ignores || rule.IgnoreStatusChanges
	}
	return ignores
}
