// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Spec is a CompositeController's spec with its names resolved: what the controller
// works with, and nothing that cannot work.
type Spec struct {
	Name                string
	Parent              stage.Type
	ParentSelector      labels.Selector
	IgnoreStatusChanges bool
	GenerateSelector    bool
	// Children are the child types, each once.
	Children   []stage.Type
	Strategies plan.Strategies
	// Schemas are what the host publishes of the child types, and SchemasErr why that is
	// not known of some, which do without. SchemasSettled tells that nothing else is
	// expected soon.
	Schemas        map[stage.Type]*openapi.Type
	SchemasErr     error
	SchemasSettled bool
	// Sync, Finalize and Customize are the hooks; one that is not there is nil.
	Sync, Finalize, Customize *v1alpha1.Hook
	// ForeignStatus tells that the parent type does not come from a
	// CustomResourceDefinition.
	ForeignStatus bool
	// EndpointConfigs are the settings of connections to hosts of hooks that set none
	// themselves.
	EndpointConfigs []v1alpha1.EndpointConfig
	// Resync is how often all parents are synced again; zero is never.
	Resync time.Duration
}

// NoStatusSubresourceError tells that the parents' status cannot be written. It is
// over when the parents' type gains the subresource.
type NoStatusSubresourceError struct{ Parent stage.Type }

func (e *NoStatusSubresourceError) Error() string {
	return fmt.Sprintf("%s has no status subresource; add `subresources: {status: {}}` to the version in its CustomResourceDefinition", e.Parent)
}

// Resolve reads the spec of a CompositeController. The error is a
// *host.UnknownTypeError or a *NoStatusSubresourceError if the host lacks something
// that it may get, an *UnsupportedError if this version does, and otherwise says
// what is wrong in the spec.
func Resolve(ctx context.Context, discovery *host.Discovery, object *v1alpha1.CompositeController) (*Spec, error) {
	spec := &Spec{
		Name:                object.Name,
		IgnoreStatusChanges: isTrue(object.Spec.ParentResource.IgnoreStatusChanges),
		GenerateSelector:    isTrue(object.Spec.GenerateSelector),
		Strategies:          plan.Strategies{},
	}
	for _, resolve := range []func(context.Context, *host.Discovery, *v1alpha1.CompositeControllerSpec) error{
		spec.resolveHooks, spec.resolveParent, spec.resolveChildren,
	} {
		if err := resolve(ctx, discovery, &object.Spec); err != nil {
			return nil, err
		}
	}
	spec.Schemas, spec.SchemasSettled, spec.SchemasErr = discovery.Schemas(ctx, spec.Children)
	if seconds := object.Spec.ResyncPeriodSeconds; seconds != nil {
		spec.Resync = time.Duration(max(*seconds, 1)) * time.Second
	}
	return spec, nil
}

func (s *Spec) resolveHooks(_ context.Context, _ *host.Discovery, object *v1alpha1.CompositeControllerSpec) error {
	hooks := object.Hooks
	switch {
	case hooks == nil:
		return errors.New("no hooks defined")
	case !hasWebhook(hooks.Sync) && !hasWebhook(hooks.Finalize):
		return errors.New("no sync hook defined: spec.hooks.sync.webhook says where it is")
	}
	if hasWebhook(hooks.Sync) {
		s.Sync = hooks.Sync
	}
	// One without a webhook is from before it was refused. Nothing could be asked before
	// a parent goes, so no parent is held.
	if hasWebhook(hooks.Finalize) {
		s.Finalize = hooks.Finalize
	}
	if hasWebhook(hooks.Customize) {
		s.Customize = hooks.Customize
	}
	s.EndpointConfigs = object.EndpointConfigs
	return checkSupported(object)
}

func (s *Spec) resolveParent(ctx context.Context, discovery *host.Discovery, object *v1alpha1.CompositeControllerSpec) (err error) {
	rule := object.ParentResource
	if s.ParentSelector, err = selector(rule.LabelSelector); err != nil {
		return fmt.Errorf("can't convert spec.parentResource.labelSelector: %w", err)
	}
	if s.Parent, err = discovery.Resolve(ctx, rule.APIVersion, rule.Resource); err != nil {
		return fmt.Errorf("parent type: %w", err)
	}
	custom, err := discovery.IsCustom(ctx, s.Parent.GroupVersionResource)
	if err != nil {
		return fmt.Errorf("parent type: %w", err)
	}
	s.ForeignStatus = !custom
	if custom && !s.Parent.StatusSubresource {
		return &NoStatusSubresourceError{Parent: s.Parent}
	}
	return nil
}

func (s *Spec) resolveChildren(ctx context.Context, discovery *host.Discovery, object *v1alpha1.CompositeControllerSpec) error {
	for _, rule := range object.ChildResources {
		child, err := discovery.Resolve(ctx, rule.APIVersion, rule.Resource)
		if err != nil {
			return fmt.Errorf("child type: %w", err)
		}
		if !slices.Contains(s.Children, child) {
			s.Children = append(s.Children, child)
		}
		if strategy := rule.UpdateStrategy; strategy != nil {
			s.Strategies[child.GroupKind()] = plan.Strategy{Method: plan.Method(strategy.Method), Engine: plan.Engine(strategy.Apply)}
		}
	}
	return nil
}

// strategies are those of all child types, with an engine for those that name none.
func (s *Spec) strategies(engine plan.Engine) plan.Strategies {
	strategies := make(plan.Strategies, len(s.Children))
	for _, child := range s.Children {
		strategy := s.Strategies[child.GroupKind()]
		strategy.Engine = cmp.Or(strategy.Engine, engine)
		strategies[child.GroupKind()] = strategy
	}
	return strategies
}

// selector returns the selector of a spec; one that is absent selects everything.
func selector(spec *metav1.LabelSelector) (labels.Selector, error) {
	if spec == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(spec)
}

// hasWebhook tells whether a hook leads to a webhook.
func hasWebhook(hook *v1alpha1.Hook) bool { return hook != nil && hook.Webhook != nil }

func isTrue(value *bool) bool { return value != nil && *value }
