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
	View *cache.View
	// Rules select the objects of the type that are parents. One rule that matches is enough.
	Rules []Rule
	// ForeignStatus is true if the type does not come from a CustomResourceDefinition.
	ForeignStatus bool
}

// Rule selects parents of one type.
type Rule struct {
	Labels      labels.Selector
	Annotations AnnotationSelector
	// IgnoreStatusChanges is true if a change of a parent's status starts no sync.
	IgnoreStatusChanges bool
}

func (r *Rule) selects(parent *object.Object) bool {
	return r.Labels.Matches(labels.Set(parent.Labels)) && r.Annotations.Matches(parent)
}

// selects reports whether any rule selects the parent.
func (t *Target) selects(parent *object.Object) bool {
	return slices.ContainsFunc(t.Rules, func(rule Rule) bool { return rule.selects(parent) })
}

// ignoresStatus reports whether changes of the parent's status start no sync: all rules that
// select the parent, and at least one rule, ignore them.
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

// NeedsAllObjects reports whether a controller with these rules for a type needs all objects of
// the type in its cache. A controller that finalizes does: it also handles parents that have its
// finalizer and that no rule selects any more, and these cannot be found by labels.
func NeedsAllObjects(rules []Rule, finalizes bool) bool {
	return finalizes || slices.ContainsFunc(rules, func(rule Rule) bool { return rule.Labels.Empty() })
}

// AcquireParents returns the view of a type's parents. It shows only the objects that the rules
// can select, unless the controller needs all of them. Of those in other namespaces than the
// controller's, it shows the ones with its finalizer.
func (o *Observer) AcquireParents(informers *cache.Informers, of object.Type, rules []Rule) *cache.View {
	var selectors []labels.Selector
	if !NeedsAllObjects(rules, o.Finalizes) {
		for _, rule := range rules {
			selectors = append(selectors, rule.Labels)
		}
	}
	if o.Namespaces.All() {
		return informers.AcquireSelected(of, selectors...)
	}
	return informers.AcquireFiltered(of, func(parent *object.Object) bool {
		return o.isWithin(parent) || o.hasFinalizer(parent)
	}, selectors...)
}

// AcquireChildren returns the view of a child type. It shows the objects in the controller's namespaces.
func (o *Observer) AcquireChildren(informers *cache.Informers, of object.Type) *cache.View {
	if o.Namespaces.All() {
		return informers.Acquire(of)
	}
	return informers.AcquireFiltered(of, o.isWithin)
}

// isWithin reports whether an object is in one of the controller's namespaces.
func (o *Observer) isWithin(object *object.Object) bool { return o.Namespaces.Has(object.Namespace) }
