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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// DecoratorKind returns the Kind of all DecoratorControllers.
func DecoratorKind() parentcontroller.Kind {
	return parentcontroller.Kind{
		Name:            "DecoratorController",
		ShortName:       "dec",
		NamesTypes:      true,
		FinalizerPrefix: v1alpha1.DecoratorFinalizerPrefix,
		ChildrenField:   protocol.Decorator().ChildrenField(),
		Stages: planner.Stages{
			CallHook: (*hook.Webhook).SyncDecorator, Plan: plan.Decorator, PlanInputsHash: plan.DecoratorInputs,
		},
	}
}

// Decorator returns the Spec of a DecoratorController. The error is a *discovery.UnknownTypeError if the host lacks a
// type that it may get later. Any other error names the mistake in the spec.
func Decorator(
	ctx context.Context, discovery *discovery.Discovery, object *v1alpha1.DecoratorController,
) (*parentcontroller.Spec, error) {
	var hooks *parentcontroller.Hooks
	if of := object.Spec.Hooks; of != nil {
		hooks = &parentcontroller.Hooks{Sync: of.Sync, Finalize: of.Finalize, Customize: of.Customize}
	}
	spec, err := parentcontroller.NewSpec(DecoratorKind(), object.DeepCopy(), hooks)
	if err != nil {
		return nil, err
	}
	spec.Claims = observe.AnnotationClaims{Name: object.Name}
	for i := range object.Spec.Resources {
		rule := &object.Spec.Resources[i]
		if err := resolveTargets(ctx, discovery, spec, i, rule); err != nil {
			isOther := func(other v1alpha1.DecoratorControllerResourceRule) bool {
				return other.GroupResource() != rule.GroupResource()
			}
			if slices.ContainsFunc(object.Spec.Resources, isOther) {
				err = parentcontroller.WithMissingType(err, rule.ResourceRule)
			}
			return nil, err
		}
	}
	for i, rule := range object.Spec.Attachments {
		strategy := attachmentStrategy(fmt.Sprintf("spec.attachments[%d].updateStrategy", i), rule.UpdateStrategy)
		if _, err := spec.ResolveChild(ctx, discovery, rule.ResourceRule, strategy); err != nil {
			return nil, err
		}
	}
	if err := spec.ResolveCommon(ctx, discovery, object.Spec.Common()); err != nil {
		return nil, err
	}
	return spec, nil
}

// resolveTargets adds the targets that rule i selects. An object is a target if any rule for its
// kind selects it. The first of these rules decides in which version objects are sent to hooks.
func resolveTargets(ctx context.Context, discovery *discovery.Discovery, spec *parentcontroller.Spec, i int,
	rule *v1alpha1.DecoratorControllerResourceRule) error {
	selects := observe.Rule{IgnoreStatusChanges: ptr.Deref(rule.IgnoreStatusChanges, false)}
	var err error
	if selects.Labels, err = parentcontroller.LabelSelector(rule.LabelSelector); err != nil {
		return fmt.Errorf("can't convert spec.resources[%d].labelSelector: %w", i, err)
	}
	if selector := rule.AnnotationSelector; selector != nil {
		selects.Annotations, err = observe.NewAnnotationSelector(selector.MatchAnnotations, selector.MatchExpressions)
		if err != nil {
			return fmt.Errorf("can't convert spec.resources[%d].annotationSelector: %w", i, err)
		}
	}
	target, err := parentcontroller.ResolveTarget(ctx, discovery, rule.ResourceRule, selects)
	if err != nil {
		return fmt.Errorf("target type: %w", err)
	}
	isSame := func(one parentcontroller.Target) bool { return one.Type.GroupKind() == target.Type.GroupKind() }
	known := slices.IndexFunc(spec.Targets, isSame)
	if known < 0 {
		spec.Targets = append(spec.Targets, target)
		return nil
	}
	spec.Targets[known].Rules = append(spec.Targets[known].Rules, selects)
	return nil
}

// attachmentStrategy returns how attachments of a type are updated, as that field of the spec says. They are not
// rolled out: a rolling method updates all at once.
func attachmentStrategy(field string, of *v1alpha1.DecoratorControllerAttachmentUpdateStrategy) plan.Strategy {
	return plan.Strategy{Field: field + ".method", Method: plan.Method(of.GetMethod().OfOneChild())}
}
