// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

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
func NewSpec(kind Kind, object ControllerObject, hooks *Hooks) (*Spec, error) {
	if hooks == nil {
		return nil, errors.New("no hooks defined")
	}
	sent, err := ControllerJSON(kind, object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", kind.Name, object.GetName(), err)
	}
	spec := &Spec{
		Kind: kind, Name: object.GetName(), UID: object.GetUID(), Generation: object.GetGeneration(),
		Object: sent, Strategies: plan.Strategies{},
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
	s.Sync, s.Finalize, s.Customize = called(hooks.Sync), called(hooks.Finalize), called(hooks.Customize)
	if s.Sync == nil && s.Finalize == nil {
		return errors.New("no sync hook defined: set spec.hooks.sync.webhook or spec.hooks.sync.inline")
	}
	return nil
}

// called returns the hook if it has something to call, else nil.
func called(hook *v1alpha1.Hook) *v1alpha1.Hook {
	if !hook.IsCalled() {
		return nil
	}
	return hook
}

// MissingTypeError is the error of a spec that can run without a type that the host does not serve: a child type, or one
// of several types of parents.
type MissingTypeError struct {
	Rule v1alpha1.ResourceRule
	err  error
}

func (e *MissingTypeError) Error() string { return e.err.Error() }

func (e *MissingTypeError) Unwrap() error { return e.err }

// WithMissingType returns the error about a type as a *MissingTypeError if the host does not have the type, and every
// other error unchanged.
func WithMissingType(err error, rule v1alpha1.ResourceRule) error {
	if isUnknown(err) {
		return &MissingTypeError{rule, err}
	}
	return err
}

// LacksType reports whether an error is a *MissingTypeError.
func LacksType(err error) bool {
	_, ok := errors.AsType[*MissingTypeError](err)
	return ok
}

// ResolveChild adds a child type with the strategy for its children, and returns the type. The
// error is a *MissingTypeError if the host does not have the type.
func (s *Spec) ResolveChild(
	ctx context.Context, discovery *discovery.Discovery, rule v1alpha1.ResourceRule, strategy plan.Strategy,
) (object.Type, error) {
	child, err := discovery.Resolve(ctx, rule.APIVersion, rule.Resource)
	if err != nil {
		return object.Type{}, WithMissingType(fmt.Errorf("child type: %w", err), rule)
	}
	if !slices.Contains(s.Children, child) {
		s.Children = append(s.Children, child)
	}
	if _, known := s.Strategies[child.GroupKind()]; !known || strategy.Method != "" || strategy.Engine != "" {
		s.Strategies[child.GroupKind()] = strategy
	}
	return child, nil
}

// ResolveCommon sets the fields that the specs of both kinds have in common, and the schemas that the host publishes of
// the types of parents and children, which must be resolved.
func (s *Spec) ResolveCommon(ctx context.Context, discovery *discovery.Discovery, common v1alpha1.Common) error {
	if err := s.resolveAccess(ctx, discovery, common.Access); err != nil {
		return err
	}
	if err := s.resolveResyncOn(ctx, discovery, common.ResyncOn); err != nil {
		return err
	}
	s.Schemas, s.SchemasStable, s.SchemasErr = discovery.Schemas(ctx, s.types())
	s.EndpointConfigs, s.Paused = common.EndpointConfigs, ptr.Deref(common.Paused, false)
	s.resolveResync(common.ResyncPeriodSeconds)
	return nil
}

// resolveResync sets the period in which all parents are synced again, at least one second.
func (s *Spec) resolveResync(seconds *int32) {
	if seconds != nil {
		s.Resync = time.Duration(max(*seconds, 1)) * time.Second
	}
}

// LabelSelector returns the selector of a spec. If the spec has none, it selects everything.
func LabelSelector(spec *v1alpha1.LabelSelector) (labels.Selector, error) {
	if spec == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(spec.Meta())
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

// resolveAccess sets the account of the controller, and the namespaces and types that it may reach. The types of
// parents and children must be resolved. The error names one that is cluster-scoped, or it is a *discovery.Error if the
// host does not return the related types.
func (s *Spec) resolveAccess(ctx context.Context, discovery *discovery.Discovery, access *v1alpha1.Access) error {
	if account := access.ServiceAccount; account != nil && (account.Namespace == "" || account.Name == "") {
		return errors.New("spec.serviceAccount names no account: set its namespace and its name")
	}
	s.Access, s.Namespaces = *access, NamespacesOf(access)
	if err := s.resolveRelated(ctx, discovery); err != nil {
		return fmt.Errorf("spec.relatedResources: %w", err)
	}
	for _, of := range slices.Concat(s.types(), s.Related) {
		if !of.Namespaced && !s.Namespaces.All() {
			return fmt.Errorf("spec.namespaces limits the controller to objects in namespaces, and %s is cluster-scoped: "+
				"remove spec.namespaces, or this type from the spec", of)
		}
	}
	return nil
}

// resolveRelated resolves the related types, of a controller that has an account or is limited to namespaces. It leaves
// out types that the host does not serve: no hook can see their objects, so the account needs no right to them.
func (s *Spec) resolveRelated(ctx context.Context, discovery *discovery.Discovery) error {
	if s.Access.ServiceAccount == nil && s.Namespaces.All() {
		return nil
	}
	for _, rule := range s.Access.RelatedResources {
		found, err := discovery.Resolve(ctx, rule.APIVersion, rule.Resource)
		if isUnknown(err) {
			continue
		}
		if err != nil {
			return err
		}
		s.Related = append(s.Related, found)
	}
	return nil
}

func isUnknown(err error) bool {
	_, unknown := errors.AsType[*discovery.UnknownTypeError](err)
	return unknown
}

// resolveResyncOn sets the objects of spec.resyncOn. A controller runs without an object whose type the host lacks.
func (s *Spec) resolveResyncOn(ctx context.Context, of *discovery.Discovery, objects []v1alpha1.WatchedObject) error {
	for i, one := range objects {
		field := fmt.Sprintf("spec.resyncOn[%d]", i)
		resource, err := of.Resolve(ctx, one.APIVersion, one.Resource)
		name := types.NamespacedName{Namespace: ptr.Deref(one.Namespace, ""), Name: one.Name}
		if isUnknown(err) {
			group, _ := schema.ParseGroupVersion(one.APIVersion) // it was parsed to resolve it
			s.ResyncOn = append(s.ResyncOn, WatchedObject{Name: name, Field: field, Missing: group, why: err})
			continue
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", field, err)
		case resource.Namespaced && name.Namespace == "":
			return fmt.Errorf("%s: %s are namespaced: set namespace", field, resource)
		case !resource.Namespaced && name.Namespace != "":
			return fmt.Errorf("%s: %s are cluster-scoped: remove namespace", field, resource)
		}
		s.ResyncOn = append(s.ResyncOn, WatchedObject{Type: resource, Name: name, Field: field})
	}
	return nil
}
