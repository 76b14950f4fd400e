// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// strategyOf returns how children of a type are updated. Whether they are rolled out one after the
// other is left to the rules of the rollout.
func strategyOf(of *v1alpha1.CompositeControllerChildUpdateStrategy) plan.Strategy {
	if of == nil {
		return plan.Strategy{}
	}
	return plan.Strategy{Method: plan.Method(of.Method).WithoutRollout(), Engine: plan.Engine(of.Apply)}
}

// rolloutRules returns the rules of rollouts, without any child type yet.
func rolloutRules(spec *v1alpha1.CompositeControllerSpec) *rollout.Rules {
	rules := &rollout.Rules{}
	if history := spec.ParentResource.RevisionHistory; history != nil {
		rules.FieldPaths = history.FieldPaths
	}
	return rules
}

// addRolling adds a child type to the rules if its update method is a rolling one. If the spec
// names a type twice, the last one counts.
func addRolling(rules *rollout.Rules, child pipeline.Type, of *v1alpha1.CompositeControllerChildUpdateStrategy) {
	if of == nil {
		return
	}
	rules.Kinds = slices.DeleteFunc(rules.Kinds, func(kind rollout.Kind) bool { return kind.Type == child })
	if kind, rolls := rollout.KindOf(child, of); rolls {
		rules.Kinds = append(rules.Kinds, kind)
	}
}
