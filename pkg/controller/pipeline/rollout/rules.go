// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Rules defines how a controller rolls out changes.
type Rules struct {
	// FieldPaths are the dotted paths of the parent's fields whose changes are rolled out. If there are none, it is the
	// entire spec.
	FieldPaths []string
	// Kinds are the child types with a rolling update method, each once.
	Kinds []Kind
	// Namespace holds the revisions of cluster-scoped parents. The revisions of a namespaced
	// parent are in its own namespace.
	Namespace string
}

// Kind is a child type, and how its children roll.
type Kind struct {
	object.Type
	// InPlace is true if a child is updated in place. Otherwise it is deleted and recreated.
	InPlace bool
	// Checks are the conditions that a child must have to be healthy.
	Checks []v1alpha1.StatusConditionCheck
	// MaxUnavailable bounds the children, of all rolling kinds together, that may be in motion once a child of this
	// kind moves: a number, or a percentage of the children of this kind, rounded up. It is one if it is nil, below
	// one or not a percentage.
	MaxUnavailable *intstr.IntOrString
	// Partition is the index, in the hook's list of the children of this kind, of the first
	// child that moves. Those before it stay at their revision.
	Partition int
	// Field is the path of the update strategy in the controller's spec, for messages.
	Field string
}

// KindOf returns how the children of a type roll. It returns false if the update strategy does not roll them.
// The strategy may be nil; field is its path in the controller's spec.
func KindOf(of object.Type, field string, strategy *v1alpha1.CompositeControllerChildUpdateStrategy) (Kind, bool) {
	if !strategy.Rolls() {
		return Kind{}, false
	}
	kind := Kind{
		Type:           of,
		Field:          field,
		InPlace:        strategy.GetMethod().OfOneChild() == v1alpha1.ChildUpdateInPlace,
		MaxUnavailable: strategy.MaxUnavailable,
		Partition:      int(ptr.Deref(strategy.Partition, 0)),
	}
	if strategy.StatusChecks != nil {
		kind.Checks = strategy.StatusChecks.Conditions
	}
	return kind, true
}

// Active reports whether a sync of the parent needs this package: some kind rolls, and the
// sync manages the parent's children.
func (r *Rules) Active(snapshot *pipeline.Snapshot) bool { return len(r.Kinds) > 0 && snapshot.Managed }

// NamespaceOf returns the namespace of a parent's revisions.
func (r *Rules) NamespaceOf(parent *object.Object) string {
	if parent.Namespace == "" {
		return r.Namespace
	}
	return parent.Namespace
}

func (r *Rules) fieldPaths() []string {
	if len(r.FieldPaths) == 0 {
		return []string{"spec"}
	}
	return r.FieldPaths
}

// kind returns the rolling kind of a type, nil if the type does not roll.
func (r *Rules) kind(of schema.GroupVersionKind) *Kind {
	i := slices.IndexFunc(r.Kinds, func(kind Kind) bool { return kind.GroupVersionKind() == of })
	if i < 0 {
		return nil
	}
	return &r.Kinds[i]
}
