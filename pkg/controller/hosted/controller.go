// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosted is a hosted controller: the straight line of stages that a sync is, and
// what one sync of a parent must know of the last. What differs between the kinds of
// controllers is in their Spec.
package hosted

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// Dependencies are what the hosted controllers of a process share.
type Dependencies struct {
	Watches *host.Watches
	// Discovery finds the types that answers of customize hooks name.
	Discovery *host.Discovery
	Actor     *act.Actor
	Events    *report.Events
	// Hook are the limits of calls of hooks.
	Hook hook.Options
	// Guards are those of all hosted controllers; nil if loops are not to be told of as ones
	// between two of them.
	Guards *writeloop.Registry
	// Engine applies the children of types for which the spec names no other.
	Engine plan.Engine
	// Workers is how many parents of one controller are synced at once.
	Workers int
	// Resync is how often all parents of all controllers are synced again; zero is never.
	Resync time.Duration
	// Metrics is where a controller shows its metrics while it runs.
	Metrics prometheus.Registerer
	// Revisions are the ControllerRevisions of parents that roll out changes.
	Revisions *revisions.Store
	// RevisionNamespace is where those of cluster-scoped parents are.
	RevisionNamespace string
}

// Controller runs one Spec.
type Controller struct {
	Dependencies
	spec     *Spec
	observer observe.Observer
	hooks    hooks
	// related observes related objects; nil without a customize hook.
	related          *related.Observer
	strategies       plan.Strategies
	queue            *syncqueue.Queue
	parents          *parents
	nameConflicts    *nameConflicts
	guard            *writeloop.Guard
	hookCalls        hookCalls
	staleCredentials staleCredentials
	// objectJSON is the JSON of the controller's own object as hooks are sent it.
	objectJSON atomic.Pointer[[]byte]
}

// New makes a controller and acquires its watches. Whoever makes it must run it or
// close it.
func New(dependencies Dependencies, spec *Spec) (*Controller, error) {
	options := dependencies.Hook
	options.Controller = hook.Controller{Type: spec.Kind.Name, Name: spec.Name}
	hooks, err := newHooks(spec, options)
	if err != nil {
		return nil, err
	}
	if spec.Rollout != nil {
		spec.Rollout.Namespace = dependencies.RevisionNamespace
	}
	c := &Controller{
		Dependencies:  dependencies,
		spec:          spec,
		hooks:         hooks,
		strategies:    spec.strategiesWithEngine(dependencies.Engine),
		parents:       newParents(),
		nameConflicts: newNameConflicts(),
		guard:         writeloop.New(),
	}
	c.SetObject(spec.Object)
	c.queue = syncqueue.New(spec.Kind.Name+"-"+spec.Name, dependencies.Workers, c.sync)
	c.observer = observe.Observer{
		Claims:    spec.Claims,
		Finalizer: spec.Kind.Finalizer(spec.Name),
		Finalizes: spec.Finalize != nil,
		Schemas:   observe.NewSchemas(spec.Schemas),
	}
	c.related = c.newRelatedObserver()
	for _, target := range spec.Targets {
		c.observer.Targets = append(c.observer.Targets, &observe.Target{
			Watch: observe.Acquire(dependencies.Watches, target.Type, target.Rules, spec.Finalize != nil),
			Rules: target.Rules, ForeignStatus: target.ForeignStatus,
		})
	}
	for _, child := range spec.Children {
		c.observer.Children = append(c.observer.Children, dependencies.Watches.Acquire(child))
	}
	return c, nil
}

// SetObject makes hooks be sent this JSON as their controller.
func (c *Controller) SetObject(object []byte) { c.objectJSON.Store(&object) }

// SetSchemas takes in what the host publishes of the child types by now.
func (c *Controller) SetSchemas(published map[pipeline.Type]*openapi.Type) {
	c.observer.Schemas.Update(published)
}

// Run syncs parents until ctx ends, and gives everything back that New acquired.
func (c *Controller) Run(ctx context.Context) {
	defer c.Close()
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", c.spec.Name))
	unsubscribe, err := c.subscribe(ctx)
	defer unsubscribe()
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Controller cannot watch and does nothing")
		}
		<-ctx.Done()
		return
	}
	defer c.Guards.Add(c.guard, c.spec.Kind.Name+" "+c.spec.Name)()
	stopResync := c.startResync(ctx)
	defer stopResync()
	stopTakeOver := c.endTakeOver(ctx)
	defer stopTakeOver()
	if err := c.Metrics.Register(c.queue.Metrics); err != nil {
		klog.FromContext(ctx).Error(err, "Controller runs without metrics of its queue")
	} else {
		defer c.Metrics.Unregister(c.queue.Metrics)
	}
	c.queue.Run(ctx)
}

// Close gives back what New acquired. It is for a controller that is not run.
func (c *Controller) Close() {
	for _, watch := range c.watches() {
		c.Watches.Release(watch)
	}
	if c.related != nil {
		c.related.Close()
	}
	c.hooks.close()
	c.queue.Close()
}

// watches are those of the types of parents, then those of the child types.
func (c *Controller) watches() []*host.Watch {
	var watches []*host.Watch
	for _, target := range c.observer.Targets {
		watches = append(watches, target.Watch)
	}
	return append(watches, c.observer.Children...)
}
