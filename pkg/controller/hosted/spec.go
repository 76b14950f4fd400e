// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// Spec is the spec of a CompositeController or DecoratorController with its names
// resolved: what the controller works with, and nothing that cannot work.
type Spec struct {
	Kind Kind
	Name string
	// Object is the JSON of the controller's own object as hooks are sent it.
	Object []byte
	// Targets are the types of parents, each kind once.
	Targets []Target
	// Children are the child types, each once.
	Children   []pipeline.Type
	Strategies plan.Strategies
	// Claims tells which children are whose. It belongs to the one controller that is made
	// of the spec.
	Claims observe.Claims
	// Schemas are what the host publishes of the child types, and SchemasErr why that is
	// not known of some, which do without. SchemasSettled tells that nothing else is
	// expected soon.
	Schemas        map[pipeline.Type]*openapi.Type
	SchemasErr     error
	SchemasSettled bool
	// Rollout is how changes of parents are rolled out; nil for a kind that knows none.
	Rollout *rollout.Rules
	// Sync, Finalize and Customize are the hooks; one that is not there is nil.
	Sync, Finalize, Customize *v1alpha1.Hook
	// EndpointConfigs are the settings of connections to hosts of hooks that set none
	// themselves.
	EndpointConfigs []v1alpha1.EndpointConfig
	// Resync is how often all parents are synced again; zero is never.
	Resync time.Duration
}

// Kind is what is the same of all controllers of a kind.
type Kind struct {
	// Name is that of the kind, as in "CompositeController".
	Name string
	// FinalizerPrefix begins the names of the finalizers by which controllers hold their
	// parents. They are stored in users' clusters.
	FinalizerPrefix string
	// CallHook asks a sync or finalize hook in the kind's form.
	CallHook func(webhook *hook.Webhook, ctx context.Context, snapshot *pipeline.Snapshot) (*pipeline.Response, error)
	// Plan makes a plan of the hook's answer.
	Plan func(snapshot *pipeline.Snapshot, response *pipeline.Response, strategies plan.Strategies, settled *plan.UpToDateCache) (*pipeline.Plan, error)
	// PlanInputsHash is the hash of what a plan depends on beside the answer.
	PlanInputsHash func(snapshot *pipeline.Snapshot) uint64
}

// Finalizer is the finalizer by which the controller of that name holds its parents.
func (k Kind) Finalizer(name string) string { return k.FinalizerPrefix + name }

// Target is a type of parents, and which objects of it are.
type Target struct {
	Type  pipeline.Type
	Rules []observe.Rule
	// ForeignStatus tells that the type does not come from a CustomResourceDefinition.
	ForeignStatus bool
}

// SeesAll tells whether the controller sees all objects of its parents' types.
func (s *Spec) SeesAll() bool {
	return !slices.ContainsFunc(s.Targets, func(target Target) bool { return !observe.SeesAll(target.Rules, s.Finalize != nil) })
}

// strategiesWithEngine are those of all child types, with an engine for those that name none.
func (s *Spec) strategiesWithEngine(engine plan.Engine) plan.Strategies {
	strategies := make(plan.Strategies, len(s.Children))
	for _, child := range s.Children {
		strategy := s.Strategies[child.GroupKind()]
		strategy.Engine = cmp.Or(strategy.Engine, engine)
		strategies[child.GroupKind()] = strategy
	}
	return strategies
}

// SameTypes tells whether two specs work on the same types.
func (s *Spec) SameTypes(other *Spec) bool {
	sameTarget := func(a, b Target) bool { return a.Type == b.Type && a.ForeignStatus == b.ForeignStatus }
	return slices.EqualFunc(s.Targets, other.Targets, sameTarget) && slices.Equal(s.Children, other.Children)
}
