// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
)

// Hooks are the hooks that a spec names.
type Hooks struct {
	Sync, Finalize, Customize *v1alpha1.Hook
}

// ControllerObject is a CompositeController or a DecoratorController.
type ControllerObject interface {
	runtime.Object
	metav1.Object
	GetStatus() *v1alpha1.ControllerStatus
}

// NewSpec returns a Spec with its hooks and with the JSON of the object. Its types are not resolved
// yet. hooks is nil if the object names none. NewSpec changes the object.
func NewSpec(kind Kind, object ControllerObject, hooks *Hooks, endpoints []v1alpha1.EndpointConfig) (*Spec, error) {
	if hooks == nil {
		return nil, errors.New("no hooks defined")
	}
	sent, err := ControllerJSON(kind, object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", kind.Name, object.GetName(), err)
	}
	spec := &Spec{
		Kind: kind, Name: object.GetName(), UID: object.GetUID(), Generation: object.GetGeneration(),
		Object: sent, Strategies: plan.Strategies{}, EndpointConfigs: endpoints,
	}
	return spec, spec.ResolveHooks(*hooks)
}

// ControllerJSON returns the JSON of a controller object as it is sent to hooks: with its kind, and
// with an empty status, because the status changes all the time.
func ControllerJSON(kind Kind, sent ControllerObject) ([]byte, error) {
	sent.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind.Name))
	sent.SetManagedFields(nil)
	raw, err := json.Marshal(sent)
	if err != nil {
		return nil, err
	}
	return object.WithMember(raw, "status", []byte("{}"))
}

// ResolveHooks sets the hooks. It returns an error if there is neither a sync nor a finalize hook.
func (s *Spec) ResolveHooks(hooks Hooks) error {
	// A finalize hook without a webhook was stored before validation refused it. There is nothing
	// to call before a parent is deleted, so no parent gets a finalizer.
	s.Sync, s.Finalize, s.Customize = withWebhook(hooks.Sync), withWebhook(hooks.Finalize), withWebhook(hooks.Customize)
	if s.Sync == nil && s.Finalize == nil {
		return errors.New("no sync hook defined: spec.hooks.sync.webhook says where it is")
	}
	return nil
}

// withWebhook returns the hook if it has a webhook, else nil.
func withWebhook(hook *v1alpha1.Hook) *v1alpha1.Hook {
	if hook == nil || hook.Webhook == nil {
		return nil
	}
	return hook
}

// MissingChildError is the error of a spec whose parent types the host has, and a child type it has not.
type MissingChildError struct {
	Rule v1alpha1.ResourceRule
	err  error
}

func (e *MissingChildError) Error() string { return e.err.Error() }

func (e *MissingChildError) Unwrap() error { return e.err }

// LacksChild reports whether an error is a *MissingChildError.
func LacksChild(err error) bool {
	_, ok := errors.AsType[*MissingChildError](err)
	return ok
}

// ResolveChild adds a child type with the strategy for its children, and returns the type. The
// error is a *MissingChildError if the host does not have the type.
func (s *Spec) ResolveChild(ctx context.Context, discovery *discovery.Discovery, rule v1alpha1.ResourceRule, strategy plan.Strategy) (object.Type, error) {
	child, err := discovery.Resolve(ctx, rule.APIVersion, rule.Resource)
	if err != nil {
		err = fmt.Errorf("child type: %w", err)
		if isUnknown(err) {
			err = &MissingChildError{rule, err}
		}
		return object.Type{}, err
	}
	if !slices.Contains(s.Children, child) {
		s.Children = append(s.Children, child)
	}
	if _, known := s.Strategies[child.GroupKind()]; !known || strategy.Method != "" || strategy.Engine != "" {
		s.Strategies[child.GroupKind()] = strategy
	}
	return child, nil
}

// ResolveSchemas sets the schemas that the host publishes of the types of parents and children.
func (s *Spec) ResolveSchemas(ctx context.Context, discovery *discovery.Discovery) {
	s.Schemas, s.SchemasStable, s.SchemasErr = discovery.Schemas(ctx, s.types())
}

// types returns the types of parents and children, each once.
func (s *Spec) types() []object.Type {
	types := slices.Clone(s.Children)
	for _, target := range s.Targets {
		if !slices.Contains(types, target.Type) {
			types = append(types, target.Type)
		}
	}
	return types
}

// LacksSchemas reports whether the host publishes no schema of some child types.
func (s *Spec) LacksSchemas() bool {
	return slices.ContainsFunc(s.Children, func(child object.Type) bool { return s.Schemas[child] == nil })
}

// ResolveResync sets the period in which all parents are synced again, at least one second.
func (s *Spec) ResolveResync(seconds *int32) {
	if seconds != nil {
		s.Resync = time.Duration(max(*seconds, 1)) * time.Second
	}
}

// LabelSelector returns the selector of a spec. If the spec has none, it selects everything.
func LabelSelector(spec *metav1.LabelSelector) (labels.Selector, error) {
	if spec == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(spec)
}

// ResolveTarget returns a type of parents with a rule that selects some of its objects.
func ResolveTarget(
	ctx context.Context, discovery *discovery.Discovery, rule v1alpha1.ResourceRule, selects observe.Rule,
) (Target, error) {
	of, err := discovery.Resolve(ctx, rule.APIVersion, rule.Resource)
	if err != nil {
		return Target{}, err
	}
	custom, err := discovery.IsCustom(ctx, of.GroupVersionResource)
	return Target{Type: of, Rules: []observe.Rule{selects}, ForeignStatus: !custom}, err
}
