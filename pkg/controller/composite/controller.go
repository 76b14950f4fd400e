// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package composite is the hosted controller of a CompositeController. It puts the
// stages of a sync together and keeps what one sync of a parent must know of the last.
package composite

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/guard"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
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
	// Engine applies the children of types for which the spec names no other.
	Engine plan.Engine
	// Workers is how many parents of one controller are synced at once.
	Workers int
	// Resync is how often all parents of all controllers are synced again; zero is never.
	Resync time.Duration
	// Metrics is where a controller shows its metrics while it runs.
	Metrics prometheus.Registerer
}

// Controller runs the spec of one CompositeController.
type Controller struct {
	Dependencies
	spec     *Spec
	observer observe.Composite
	hooks    hooks
	// related observes related objects; nil without a customize hook.
	related    *related.Observer
	strategies plan.Strategies
	loop       *hosted.Loop
	parents    *parents
	taken      *takenNames
	guard      *guard.Guard
	calls      calls
	stale      stale
	// object is the JSON of the CompositeController as hooks are sent it.
	object atomic.Pointer[[]byte]
}

// New makes a controller and acquires its watches. Whoever makes it must run it or
// close it.
func New(dependencies Dependencies, object *v1alpha1.CompositeController, spec *Spec) (*Controller, error) {
	options := dependencies.Hook
	options.Controller = hook.Controller{Type: "CompositeController", Name: object.Name}
	hooks, err := newHooks(spec, options)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		Dependencies: dependencies,
		spec:         spec,
		hooks:        hooks,
		strategies:   spec.strategies(dependencies.Engine),
		parents:      newParents(),
		taken:        newTakenNames(),
		guard:        guard.New(),
	}
	if err := c.SetObject(object); err != nil {
		hooks.close()
		return nil, err
	}
	c.loop = hosted.NewLoop("CompositeController-"+object.Name, dependencies.Workers, c.sync)
	c.observer = observe.Composite{
		Parents:        dependencies.Watches.Acquire(spec.Parent),
		Finalizer:      FinalizerOf(object.Name),
		Finalizes:      spec.Finalize != nil,
		ForeignStatus:  spec.ForeignStatus,
		ParentSelector: spec.ParentSelector,
		Selectors:      observe.NewSelectors(spec.GenerateSelector),
		Schemas:        observe.NewSchemas(spec.Schemas),
	}
	c.related = c.newRelated()
	for _, child := range spec.Children {
		c.observer.Children = append(c.observer.Children, dependencies.Watches.Acquire(child))
	}
	return c, nil
}

// SetObject makes hooks see the CompositeController as it is now. Its spec must be
// the one the controller was made for.
func (c *Controller) SetObject(object *v1alpha1.CompositeController) error {
	sent := object.DeepCopy()
	sent.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("CompositeController"))
	sent.ManagedFields = nil
	for _, child := range sent.Spec.ChildResources {
		// Hooks have always been sent an object here.
		if strategy := child.UpdateStrategy; strategy != nil && strategy.StatusChecks == nil {
			strategy.StatusChecks = &v1alpha1.ChildUpdateStatusChecks{}
		}
	}
	body, err := json.Marshal(struct {
		*v1alpha1.CompositeController
		// Status hides the object's own, which would change all the time.
		Status struct{} `json:"status"`
	}{CompositeController: sent})
	if err != nil {
		return fmt.Errorf("encode CompositeController %s: %w", object.Name, err)
	}
	c.object.Store(&body)
	return nil
}

// SetSchemas takes in what the host publishes of the child types by now.
func (c *Controller) SetSchemas(published map[stage.Type]*openapi.Type) {
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
	stopResync := c.resync(ctx)
	defer stopResync()
	stopTakeOver := c.endTakeOver(ctx)
	defer stopTakeOver()
	if err := c.Metrics.Register(c.loop.Metrics); err != nil {
		klog.FromContext(ctx).Error(err, "Controller runs without metrics of its queue")
	} else {
		defer c.Metrics.Unregister(c.loop.Metrics)
	}
	c.loop.Run(ctx)
}

// Close gives back what New acquired. It is for a controller that is not run.
func (c *Controller) Close() {
	for _, watch := range c.observer.Children {
		c.Watches.Release(watch)
	}
	c.Watches.Release(c.observer.Parents)
	if c.related != nil {
		c.related.Close(context.Background())
	}
	c.hooks.close()
	c.loop.Close()
}
