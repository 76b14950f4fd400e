// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/permissions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/calllog"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/tracing"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline/check"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Settings are the settings of the process that its parent controllers and their reconcilers read.
type Settings struct {
	// Workers is the maximum number of parents of one controller that are synced concurrently. It is at least 1.
	Workers int
	// CacheFlushInterval is the interval at which all parents are synced again. Zero disables it.
	CacheFlushInterval time.Duration
	// DeveloperMode reports more to the authors of hooks: it logs what each sync did, shows complete errors, and
	// repeats events about warnings and errors.
	DeveloperMode bool
	// RequireServiceAccount is true if controllers without a service account are refused. Those that are stored run, and
	// their status says that new ones need one.
	RequireServiceAccount bool
}

// Dependencies are shared by the parent controllers of a process.
type Dependencies struct {
	Settings
	Informers *cache.Informers
	// Discovery finds the types that the rules of customize hooks name.
	Discovery *discovery.Discovery
	// Permissions knows what the service accounts of controllers may read.
	Permissions *permissions.Permissions
	Actor       *act.Actor
	Events      *report.Events
	// Hook has the limits of calls of hooks.
	Hook hook.Options
	// WriteLoops finds the controllers that write the same object again and again. If it is nil,
	// write loops do not name their rivals.
	WriteLoops *writeloop.Registry
	// Engine applies the children of types for which the spec names no engine.
	Engine plan.Engine
	// Held returns why no controller may run; nil if they may. If the function is nil, they always may.
	Held func() error
	// Metrics registers the metrics of the queue and of the health of a running controller.
	Metrics prometheus.Registerer
	// Tracer traces syncs; nil if they are not traced.
	Tracer *tracing.Tracer
	// Calls keeps the last calls of hooks for HookCalls; nil if they are not kept.
	Calls *calllog.Log
	// Syncs shows each parent of a controller as a Sync; nil if no Syncs are served.
	Syncs *rows.Syncs
	// Revisions reads and writes ControllerRevisions.
	Revisions *store.Store
	// RevisionNamespace is the namespace of the ControllerRevisions of cluster-scoped parents.
	RevisionNamespace string
}

// Controller is one running CompositeController or DecoratorController.
type Controller struct {
	Dependencies
	spec *Spec
	// caches are what the controller reads, and triggers are what enqueues its parents.
	caches
	triggers
	// planner takes parents from the caches to a plan.
	planner *planner.Planner
	parents *parentStates
	// owner is the owner whose share of the hook budget the syncs use.
	owner string
	// Reads are the rights to read that the controller needs; nil if it has no service account. It is set before
	// Run. The controller syncs nothing while a right is missing.
	Reads *permissions.Requirement
	// Previews previews syncs of the parents.
	Previews *preview.Previewer
	// Leaving ends a controller whose object is being deleted, or whose next spec does not finalize what this one does.
	Leaving *Leaving
	// reporter writes events about the parents, and keeps what the status says about them.
	reporter   *status.Reporter
	guard      *writeloop.Guard
	finalizers *finalizers
	revisions  *revisionWriter
	watcher    *objectWatcher

	hookCalls        status.HookCalls
	staleCredentials status.StaleCredentials
	// mismatch says how the inline hooks do not fit the schemas; empty if they do.
	mismatch atomic.Pointer[string]
	// lastRefusal is the problem of the last refusal of related objects.
	lastRefusal atomic.Pointer[report.Problem]
}

// New returns a controller that has acquired its views and is not running. The caller must either
// run it or close it.
func New(dependencies Dependencies, spec *Spec) (*Controller, error) {
	options := dependencies.Hook
	options.Controller = hook.ControllerRef{Type: spec.Kind.Name, Name: spec.Name}
	labels := rows.LabelsOf(spec.Kind.Name, spec.Name)
	options.Calls = dependencies.Calls.Of(spec.reference()).Recorder(calllog.Owner{
		UID: spec.UID, Labels: labels, Namespace: dependencies.RevisionNamespace, Children: spec.Children,
	})
	hooks, err := newHooks(spec, options)
	if err != nil {
		return nil, err
	}
	if spec.Rollout != nil {
		spec.Rollout.Namespace = dependencies.RevisionNamespace
	}
	dependencies.Actor = dependencies.Actor.For(spec.Kind.Name+" "+spec.Name, AccountOf(&spec.Access))
	c := &Controller{Dependencies: dependencies, spec: spec, owner: ownerOf(spec), guard: writeloop.New()}
	c.planner = &planner.Planner{
		Stages: &spec.Kind.Stages, Rollout: spec.Rollout, Hooks: hooks,
		Strategies: spec.strategiesWithEngine(dependencies.Engine),
		Revisions:  dependencies.Revisions, ObjectJSON: &atomic.Pointer[[]byte]{},
		Called: func(hook string, snapshot *pipeline.Snapshot, _ *pipeline.Response, err error) {
			c.hookCalls.Update(hook, snapshot, err)
		},
		Observer: observe.Observer{
			Claims:     spec.Claims,
			Finalizer:  spec.Kind.Finalizer(spec.Name),
			Finalizes:  spec.Finalize != nil,
			Namespaces: spec.Namespaces,
			Schemas:    observe.NewSchemas(spec.Schemas),
		},
	}
	c.SetObject(spec.Object)
	c.addParts(labels)
	c.planner.Related = c.newRelatedObserver(c.planner.Customize,
		func(parents ...object.Key) { c.queue.Enqueue(syncqueue.RelatedChanged, parents...) })
	for _, target := range spec.Targets {
		c.Previews.Parents = append(c.Previews.Parents, target.Type)
		c.planner.Observer.Targets = append(c.planner.Observer.Targets, &observe.Target{
			View:  c.planner.Observer.AcquireParents(dependencies.Informers, target.Type, target.Rules),
			Rules: target.Rules, ForeignStatus: target.ForeignStatus,
		})
	}
	for _, child := range spec.Children {
		c.planner.Observer.Children = append(c.planner.Observer.Children,
			c.planner.Observer.AcquireChildren(dependencies.Informers, child))
	}
	c.compareTemplates(spec.Schemas)
	return c, nil
}

// addParts creates the parts of the controller that have state of their own.
func (c *Controller) addParts(labels map[string]string) {
	spec, observer := c.spec, &c.planner.Observer
	c.reporter = &status.Reporter{
		Tracker: status.NewTracker(), Events: c.Events, Guard: c.guard, Rivals: c.WriteLoops, Repeat: c.DeveloperMode,
	}
	c.caches = caches{observer: observer, reporter: c.reporter}
	if spec.Rollout != nil {
		c.caches.revisions = c.Revisions
	}
	c.revisions = &revisionWriter{
		store: c.Revisions, actor: c.Actor, permissions: c.Permissions, account: spec.Access.ServiceAccount,
	}
	c.finalizers = &finalizers{observer: observer, actor: c.Actor, guard: c.guard, reporter: c.reporter}
	c.parents = newParentStates(c.revisions)
	queue := syncqueue.New(spec.Kind.Name+"-"+spec.Name, c.Workers, c.Tracer, c.sync)
	queue.Requeued = func(parent object.Key) { c.rows.Changed(parent) }
	c.triggers = triggers{
		spec: spec, observer: observer, queue: queue, tracker: c.reporter.Tracker, nameConflicts: newNameConflicts(),
		requests: newResyncRequests(), periods: []time.Duration{spec.Resync, c.CacheFlushInterval},
		rows: &rows.Rows{
			Syncs: c.Syncs, Reference: spec.reference(), UID: spec.UID, Labels: labels,
			ShortName: spec.Kind.ShortName, NamesTypes: spec.Kind.NamesTypes, ClusterNamespace: c.RevisionNamespace,
			IsPaused: spec.Paused, Observer: observer, Queue: queue,
			Health: c.reporter.Of, Record: c.parents.record, NextResync: c.nextResync,
		},
	}
	c.Leaving = &Leaving{
		spec: spec, observer: observer, parents: c.parents, queue: queue, tracker: c.reporter.Tracker, isFilled: c.IsFilled,
		isTypeBeingDeleted: c.isTypeBeingDeleted,
	}
	c.watcher = newObjectWatcher(spec.ResyncOn, c.Informers, c.resyncAll)
	c.Previews = &preview.Previewer{
		Planner: c.planner, Children: spec.Children, Namespaces: spec.Namespaces, Guard: c.guard, Actor: c.Actor,
		Budget: c.Hook.Budget, Owner: c.owner,
		CheckReads: func(ctx context.Context) error { return c.Reads.Check(ctx) },
		Lacks:      spec.Lacks, Recall: c.parents.recall, IsPaused: spec.pauses, MayWriteRevisions: c.revisions.mayWrite,
		RelatedConfig: c.relatedConfig,
	}
}

// ownerOf returns the owner of a controller: the namespace of its service account, or else the controller itself.
func ownerOf(spec *Spec) string {
	if account := spec.Access.ServiceAccount; account != nil {
		return account.Namespace
	}
	return spec.Kind.Name + "/" + spec.Name
}

// SetObject sets the JSON of the controller object that is sent to hooks.
func (c *Controller) SetObject(object []byte) { c.planner.ObjectJSON.Store(&object) }

// SetSchemas sets the schemas that the host publishes of the types of parents and children. If they
// differ from the former ones, it enqueues the parents with warnings, because the host may know these
// fields now. It also enqueues the parents about which the host has warned, because a plan that was made
// without a schema may not warn about the fields that the host drops.
func (c *Controller) SetSchemas(published map[object.Type]*openapi.Type) {
	if !c.planner.Observer.Schemas.Update(published) {
		return
	}
	c.compareTemplates(published)
	for _, parent := range c.reporter.Warned() {
		c.queue.Enqueue(syncqueue.SchemaChanged, parent)
	}
}

// compareTemplates compares the inline hooks with the schemas, for the status. It compares nothing while a child type is
// missing.
func (c *Controller) compareTemplates(published map[object.Type]*openapi.Type) {
	types := check.Types{Schemas: check.ByKind(published)}
	for _, target := range c.spec.Targets {
		types.Parents = append(types.Parents, target.Type.GroupVersionKind())
	}
	for _, child := range c.spec.Children {
		types.Children = append(types.Children, child.GroupVersionKind())
	}
	var warnings []string
	for _, webhook := range c.planner.Hooks.All() {
		if template := webhook.Template(); template != nil && c.spec.Lacks == nil {
			warnings = append(warnings, check.Template(template, types)...)
		}
	}
	c.mismatch.Store(ptr.To(strings.Join(warnings, "; ")))
}

// Connect makes the hooks read their credentials. The caller must call it before Run. Events about the credentials, and
// about the types of the controller, are about the object. The error is a *hook.SourceError if a Secret or ConfigMap is
// missing or invalid.
func (c *Controller) Connect(ctx context.Context, object runtime.Object) error {
	logger := klog.FromContext(ctx)
	c.reporter.About(object)
	return c.connect(ctx, func(webhook *hook.Webhook, err error) {
		before := c.staleCredentials.Set(webhook, err)
		if err == nil {
			logger.Info("Credentials of a hook are valid again", "previousError", before)
			return
		}
		logger.Error(err, "Failed to load new credentials of a hook; keeping the last valid ones")
		c.Events.CredentialsStale(object, err)
	})
}

// ConnectForPreviews is Connect for a controller that is not run. It writes no events about credentials.
func (c *Controller) ConnectForPreviews(ctx context.Context) error {
	return c.connect(ctx, func(*hook.Webhook, error) {})
}

// connect makes the hooks read their credentials. It calls stale when the credentials of a hook become unusable, and
// without an error when they are usable again.
func (c *Controller) connect(ctx context.Context, stale func(*hook.Webhook, error)) error {
	for _, webhook := range c.planner.Hooks.All() {
		if err := webhook.Connect(ctx, func(err error) { stale(webhook, err) }); err != nil {
			return err
		}
	}
	return nil
}

// Run syncs parents until ctx ends, and then releases the resources that New acquired.
func (c *Controller) Run(ctx context.Context) {
	defer c.Close()
	defer c.rows.Show()()
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", c.spec.Name))
	removeHandlers, err := c.handleEvents(ctx)
	defer removeHandlers()
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to watch; the controller stays idle")
		}
		<-ctx.Done()
		return
	}
	defer c.WriteLoops.Add(c.guard, c.spec.Kind.Name+" "+c.spec.Name)()
	defer c.watcher.start(ctx)()
	if rules := c.spec.Rollout; rules != nil && len(rules.Kinds) > 0 {
		defer c.Revisions.Follow(c.revisionRestored)()
	}
	defer c.startResyncRequests(ctx)()
	defer c.startResync(ctx)()
	ofHealth := status.NewMetrics(c, c.spec.Kind.Name, c.spec.Name, c.planner.Hooks.ByName())
	for _, shown := range []prometheus.Collector{c.queue.Metrics, ofHealth} {
		if err := c.Metrics.Register(shown); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to register metrics; the controller runs without them")
			continue
		}
		defer c.Metrics.Unregister(shown)
	}
	c.queue.Run(ctx)
}

// handleEvents waits until the caches are filled, and then adds event handlers that enqueue parents. The caller must
// call removeHandlers, also after an error.
func (c *Controller) handleEvents(ctx context.Context) (removeHandlers func(), err error) {
	if err := c.WaitForCaches(ctx); err != nil {
		return func() {}, err
	}
	return c.addEventHandlers()
}

// Close releases the resources that New acquired. It is for a controller that does not run.
func (c *Controller) Close() {
	for _, view := range c.views() {
		c.Informers.Release(view)
	}
	if c.planner.Related != nil {
		c.planner.Related.Close()
	}
	c.planner.Hooks.Close()
	c.queue.Close()
}

// newRelatedObserver returns an observer of related objects, which calls the customize hook by ask, and calls changed
// with the parents whose related objects may have changed. It is nil without a customize hook.
func (c *Controller) newRelatedObserver(ask related.AskFunc, changed func(parents ...object.Key)) *related.Observer {
	if c.planner.Hooks.Customize == nil {
		return nil
	}
	return related.New(c.relatedConfig(ask, changed))
}

func (c *Controller) relatedConfig(ask related.AskFunc, changed func(parents ...object.Key)) related.Config {
	config := related.Config{
		Informers:   c.Informers,
		Resolve:     c.resolveRelated,
		Ask:         ask,
		Confinement: confinement(c.spec),
		NotShown:    notShown(c.spec),
		Namespaces:  c.spec.Namespaces,
		Changed:     changed,
		Types:       c.spec.Access.RelatedResources,
	}
	if account := c.spec.Access.ServiceAccount; account != nil {
		config.Require = func(required []rights.Required, changed func()) *permissions.Requirement {
			return c.Permissions.Require(account, required, changed)
		}
	}
	return config
}

// resolveRelated returns a type that the customize hook names. The author of the hook reads the error.
func (c *Controller) resolveRelated(ctx context.Context, apiVersion, resource string) (object.Type, error) {
	found, err := c.Discovery.Resolve(ctx, apiVersion, resource)
	return found, c.Discovery.WithHint(ctx, err)
}

// isTypeBeingDeleted reports whether a resource comes from a CustomResourceDefinition that is being deleted.
func (c *Controller) isTypeBeingDeleted(resource schema.GroupResource) bool {
	return c.Discovery != nil && c.Discovery.IsBeingDeleted(resource)
}
