// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// CompositeKind returns the Kind of all CompositeControllers.
func CompositeKind() parentcontroller.Kind {
	return parentcontroller.Kind{
		Name:            "CompositeController",
		ShortName:       "cc",
		FinalizerPrefix: v1alpha1.CompositeFinalizerPrefix,
		ChildrenField:   protocol.Composite().ChildrenField(),
		Stages: planner.Stages{
			CallHook: (*hook.Webhook).SyncComposite, Plan: plan.Composite, PlanInputsHash: plan.CompositeInputs,
		},
	}
}

// NoStatusSubresourceError is the error about a type of parents without a status subresource. The controller cannot
// write the status of such parents.
type NoStatusSubresourceError struct{ Parent object.Type }

func (e *NoStatusSubresourceError) Error() string {
	return fmt.Sprintf("%s has no status subresource; add `subresources: {status: {}}` to the version in its CustomResourceDefinition", e.Parent)
}

// Composite returns the Spec of a CompositeController. The error is a *discovery.UnknownTypeError or a
// *NoStatusSubresourceError if the host lacks something that it may get later. Any other error names the mistake in the
// spec.
func Composite(
	ctx context.Context, discovery *discovery.Discovery, object *v1alpha1.CompositeController,
) (*parentcontroller.Spec, error) {
	var hooks *parentcontroller.Hooks
	if of := object.Spec.Hooks; of != nil {
		hooks = &parentcontroller.Hooks{Sync: of.Sync, Finalize: of.Finalize, Customize: of.Customize}
	}
	spec, err := parentcontroller.NewSpec(CompositeKind(), asSentToHooks(object), hooks)
	if err != nil {
		return nil, err
	}
	spec.Claims = observe.NewLabelClaims(ptr.Deref(object.Spec.GenerateSelector, false))
	spec.Rollout = rolloutRules(&object.Spec)
	parents, err := resolveParents(ctx, discovery, &object.Spec.ParentResource)
	if err != nil {
		return nil, err
	}
	spec.Targets = []parentcontroller.Target{*parents}
	for i, rule := range object.Spec.ChildResources {
		field := fmt.Sprintf("spec.childResources[%d].updateStrategy", i)
		child, err := spec.ResolveChild(ctx, discovery, rule.ResourceRule, childStrategy(field, rule.UpdateStrategy))
		if err != nil {
			return nil, err
		}
		addRolling(spec.Rollout, child, field, rule.UpdateStrategy)
	}
	if err := spec.ResolveCommon(ctx, discovery, object.Spec.Common()); err != nil {
		return nil, err
	}
	return spec, nil
}

// resolveParents returns the parent type with its selector.
func resolveParents(
	ctx context.Context, discovery *discovery.Discovery, rule *v1alpha1.CompositeControllerParentResourceRule,
) (*parentcontroller.Target, error) {
	selector, err := parentcontroller.LabelSelector(rule.LabelSelector)
	if err != nil {
		return nil, fmt.Errorf("can't convert spec.parentResource.labelSelector: %w", err)
	}
	target, err := parentcontroller.ResolveTarget(ctx, discovery, rule.ResourceRule,
		observe.Rule{Labels: selector, IgnoreStatusChanges: ptr.Deref(rule.IgnoreStatusChanges, false)})
	if err != nil {
		return nil, fmt.Errorf("parent type: %w", err)
	}
	if !target.ForeignStatus && !target.Type.StatusSubresource {
		return nil, &NoStatusSubresourceError{Parent: target.Type}
	}
	return &target, nil
}

// asSentToHooks returns a copy of a CompositeController as it is sent to hooks.
func asSentToHooks(object *v1alpha1.CompositeController) *v1alpha1.CompositeController {
	sent := object.DeepCopy()
	for _, child := range sent.Spec.ChildResources {
		// Metacontroller has always sent an object here, never null.
		if strategy := child.UpdateStrategy; strategy != nil && strategy.StatusChecks == nil {
			strategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{}
		}
	}
	return sent
}

// childStrategy returns how children of a type are updated, as that field of the spec says. When it is the
// turn of one that is rolled out is left to the rules of the rollout.
func childStrategy(field string, of *v1alpha1.CompositeControllerChildUpdateStrategy) plan.Strategy {
	return plan.Strategy{Field: field + ".method", Method: plan.Method(of.GetMethod().OfOneChild()),
		Engine: plan.Engine(of.GetApply()), Rolls: of.Rolls()}
}

// rolloutRules returns the rules of rollouts, without any child type yet.
func rolloutRules(spec *v1alpha1.CompositeControllerSpec) *rollout.Rules {
	rules := &rollout.Rules{}
	if history := spec.ParentResource.RevisionHistory; history != nil {
		rules.FieldPaths = history.FieldPaths
	}
	return rules
}

// addRolling adds a child type to the rules if its update method is a rolling one. If the spec names a type twice,
// the last one counts. field is the path of the strategy in the spec.
func addRolling(
	rules *rollout.Rules, child object.Type, field string, of *v1alpha1.CompositeControllerChildUpdateStrategy,
) {
	if of == nil {
		return
	}
	rules.Kinds = slices.DeleteFunc(rules.Kinds, func(kind rollout.Kind) bool { return kind.Type == child })
	if kind, rolls := rollout.KindOf(child, field, of); rolls {
		rules.Kinds = append(rules.Kinds, kind)
	}
}
