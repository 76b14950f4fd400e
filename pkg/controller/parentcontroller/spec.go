// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Spec is the spec of a CompositeController or DecoratorController with its types, selectors and
// strategies resolved. A spec that cannot work does not become one.
type Spec struct {
	Kind Kind
	Name string
	// Paused is true if the controller leaves all its parents alone.
	Paused bool
	// UID and Generation identify the controller object and the version of its spec.
	UID        types.UID
	Generation int64
	// Object is the JSON of the controller object as it is sent to hooks.
	Object []byte
	// Access has the account of the controller, and what it may reach. Namespaces limits its parents, children, and
	// related objects.
	Access     v1alpha1.Access
	Namespaces object.Namespaces
	// Targets are the types of parents, each kind once. A CompositeController has one.
	Targets []Target
	// Children are the child types, each once.
	Children   []object.Type
	Strategies plan.Strategies
	// Claims finds the parents of children and the children of parents. It has state of the one
	// Controller that is made of the Spec.
	Claims observe.Claims
	// Schemas are the schemas that the host publishes of the types of parents and children. SchemasErr says why some
	// are not known; objects of these types are handled without a schema. SchemasStable is true if the host is not
	// expected to publish other schemas soon.
	Schemas       map[object.Type]*openapi.Type
	SchemasErr    error
	SchemasStable bool
	// Rollout has the rules by which changes of parents are rolled out; nil for decorators.
	Rollout *rollout.Rules
	// Sync, Finalize and Customize are the hooks; each is nil if the spec does not have it.
	Sync, Finalize, Customize *v1alpha1.Hook
	// EndpointConfigs are the settings of connections for hooks that have none of their own.
	EndpointConfigs []v1alpha1.EndpointConfig
	// Resync is the period in which all parents are synced again; zero disables it.
	Resync time.Duration
	// ResyncOn are the objects whose changes cause a sync of all parents.
	ResyncOn []WatchedObject
	// Lacks says which child type the host lacks; while it is set, only parents that are being deleted are synced.
	// It is nil if all are.
	Lacks error
	// Related are the types that the customize hook may ask for, if the controller acts as a service
	// account or is limited to namespaces. If empty, any type.
	Related []object.Type
}

// Kind has the properties that all CompositeControllers, or all DecoratorControllers, have in common.
type Kind struct {
	// Name is the name of the kind, such as "CompositeController".
	Name string
	// ShortName is the short name of the kind, such as "cc". NamesTypes is true if parents may be of several types. The
	// names of Syncs then have the type.
	ShortName  string
	NamesTypes bool
	// FinalizerPrefix is the beginning of the finalizers that controllers put on their parents. It
	// is stored in users' clusters.
	FinalizerPrefix string
	// ChildrenField is the field of hook requests and answers that holds the children.
	ChildrenField string
	// Stages are the stages of a sync in which the kinds differ.
	planner.Stages
}

// Finalizer returns the finalizer that the controller of that name puts on its parents.
func (k Kind) Finalizer(name string) string { return k.FinalizerPrefix + name }

// Target is a type of parents, with the rules that select some of its objects.
type Target struct {
	Type  object.Type
	Rules []observe.Rule
	// ForeignStatus is true if the type does not come from a CustomResourceDefinition, so something else writes the
	// status of its objects.
	ForeignStatus bool
}

// SeesAll reports whether the controller watches all objects of its parents' types.
func (s *Spec) SeesAll() bool {
	return !slices.ContainsFunc(s.Targets, func(target Target) bool {
		return !observe.NeedsAllObjects(target.Rules, s.Finalize != nil)
	})
}

// strategiesWithEngine returns the strategies of all child types, with this engine where the spec
// names none.
func (s *Spec) strategiesWithEngine(engine plan.Engine) plan.Strategies {
	strategies := make(plan.Strategies, len(s.Children))
	for _, child := range s.Children {
		strategy := s.Strategies[child.GroupKind()]
		strategy.Engine = cmp.Or(strategy.Engine, engine)
		strategies[child.GroupKind()] = strategy
	}
	return strategies
}

// SameTypes reports whether two specs have the same types of parents, of children and of spec.resyncOn.
func (s *Spec) SameTypes(other *Spec) bool {
	sameTarget := func(a, b Target) bool { return a.Type == b.Type && a.ForeignStatus == b.ForeignStatus }
	sameWatched := func(a, b WatchedObject) bool { return a.Type == b.Type && a.Name == b.Name }
	return slices.EqualFunc(s.Targets, other.Targets, sameTarget) && slices.Equal(s.Children, other.Children) &&
		slices.EqualFunc(s.ResyncOn, other.ResyncOn, sameWatched)
}

// LeavesFinalizing reports whether this spec finalizes parents for which the next one calls no finalize hook.
func (s *Spec) LeavesFinalizing(next *Spec) bool {
	return s.Finalize != nil && slices.ContainsFunc(s.Targets, func(target Target) bool {
		isOfType := func(other Target) bool { return other.Type.GroupResource() == target.Type.GroupResource() }
		return next.Finalize == nil || !slices.ContainsFunc(next.Targets, isOfType)
	})
}

// reference names the controller object.
func (s *Spec) reference() v1alpha1.ControllerReference {
	return v1alpha1.ControllerReference{Kind: s.Kind.Name, Name: s.Name}
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

// AccountOf returns the account that a controller acts as.
func AccountOf(access *v1alpha1.Access) host.Account {
	if access.ServiceAccount == nil {
		return host.Account{}
	}
	return host.Account{Namespace: access.ServiceAccount.Namespace, Name: access.ServiceAccount.Name}
}

// NamespacesOf returns the namespaces that a controller is limited to.
func NamespacesOf(access *v1alpha1.Access) object.Namespaces {
	return object.NewNamespaces(access.Namespaces)
}

// pauses reports whether the controller, or the parent, is paused.
func (s *Spec) pauses(parent *object.Object) bool {
	return s.Paused || parent.Annotations[v1alpha1.PausedAnnotation] == "true"
}

// Reads returns the rights to read that the service account must have before the controller starts. Without a service
// account, the author needs rights instead: see requiredRights in package admission.
func (s *Spec) Reads() []rights.Required {
	var required []rights.Required
	read := func(of object.Type, what string) {
		required = append(required, permissions.ToShow(of, s.Namespaces.Names(), what)...)
	}
	for _, target := range s.Targets {
		read(target.Type, "its parents")
	}
	for _, child := range s.Children {
		read(child, "its "+s.Kind.ChildrenField)
	}
	for _, of := range s.Related {
		read(of, "spec.relatedResources")
	}
	for _, one := range s.ResyncOn {
		if one.why != nil {
			continue // the host lacks its type
		}
		of := rights.Object{GroupResource: one.Type.GroupResource(), Namespace: one.Name.Namespace, Name: one.Name.Name}
		required = append(required, rights.ToRead(of, one.Field)...)
	}
	for _, one := range s.namedHooks() {
		for _, reference := range hook.References(one.name, one.spec, s.EndpointConfigs) {
			of := rights.Object{
				GroupResource: reference.Type.GroupResource(), Namespace: reference.Name.Namespace, Name: reference.Name.Name,
			}
			required = append(required, rights.ToReadReference(of, reference.Field)...)
		}
	}
	return required
}
