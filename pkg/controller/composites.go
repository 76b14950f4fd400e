// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/composite"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/metrics"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
	listers "github.com/metacontroller/metacontroller-apiserver/pkg/generated/listers/metacontroller/v1alpha1"
)

// composites keeps a hosted controller running for each CompositeController.
type composites struct {
	composite.Dependencies
	drainer   *drain.Drainer
	client    versioned.Interface
	informers externalversions.SharedInformerFactory
	lister    listers.CompositeControllerLister
	queue     workqueue.TypedRateLimitingInterface[string]
	// queued and reconciled are the metrics of the queue and of the work on it.
	queued     *metrics.Queue
	reconciled *metrics.Reconciles

	mu     sync.Mutex
	byName map[string]*hostedComposite
}

// The time after which a controller that cannot be started is tried again doubles
// from the first to the longest backoff. A change of its types or its spec comes
// before that.
const (
	firstBackoff   = 5 * time.Millisecond
	longestBackoff = 30 * time.Second
)

// builders is how many controllers are built, started or stopped at once.
const builders = 4

// compositeReconciler is the name in metrics of what brings controllers up and down.
const compositeReconciler = "composite-metacontroller"

func newComposites(client versioned.Interface, selector labels.Selector, dependencies composite.Dependencies) *composites {
	queued := metrics.NewQueue(compositeReconciler)
	informers := externalversions.NewSharedInformerFactoryWithOptions(client, 0,
		externalversions.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = selector.String() }))
	return &composites{
		Dependencies: dependencies,
		client:       client,
		informers:    informers,
		lister:       informers.Metacontroller().V1alpha1().CompositeControllers().Lister(),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstBackoff, longestBackoff),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: compositeReconciler, MetricsProvider: queued}),
		queued:     queued,
		reconciled: metrics.NewReconciles(compositeReconciler, builders),
		byName:     map[string]*hostedComposite{},
	}
}

// run follows the CompositeControllers until ctx ends and all hosted controllers
// have stopped.
func (c *composites) run(ctx context.Context) error {
	defer c.queue.ShutDown()
	for _, measured := range []prometheus.Collector{c.queued, c.reconciled} {
		if err := c.Metrics.Register(measured); err != nil {
			return fmt.Errorf("show metrics of CompositeControllers: %w", err)
		}
		defer c.Metrics.Unregister(measured)
	}
	informer := c.informers.Metacontroller().V1alpha1().CompositeControllers().Informer()
	enqueue := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			c.queue.Add(name.Name)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, after any) { enqueue(after) }, DeleteFunc: enqueue,
	})
	if err != nil {
		return fmt.Errorf("follow CompositeControllers: %w", err)
	}
	c.informers.Start(ctx.Done())
	defer c.informers.Shutdown()
	if !cache.WaitFor(ctx, "CompositeControllers", informer.HasSyncedChecker()) {
		return nil
	}
	var workers sync.WaitGroup
	for range builders {
		workers.Go(func() { c.work(ctx) })
	}
	workers.Go(func() { c.writeStatuses(ctx) })
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
	c.stopAll(ctx)
	return nil
}

func (c *composites) work(ctx context.Context) {
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if c.reconciled.Measure(func() (bool, error) { return c.reconcileSafely(ctx, name) }) {
			c.queue.Forget(name)
		} else {
			c.queue.AddRateLimited(name)
		}
		c.queue.Done(name)
	}
}

// reconcileSafely keeps a panic from ending the process.
func (c *composites) reconcileSafely(ctx context.Context, name string) (done bool, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			done, err = false, fmt.Errorf("panic: %v", panicked)
			klog.FromContext(ctx).Error(err, "Panic while a controller was being started or stopped", "controller", name, "stack", string(debug.Stack()))
		}
	}()
	return c.reconcile(ctx, name)
}

// recheckAfter is how long after a type's definition changed the host may still
// answer discovery as before.
const recheckAfter = host.SettleTime + time.Second

// groupChanged has the controllers looked at anew that use types of the group.
func (c *composites) groupChanged(group string) {
	objects, err := c.lister.List(labels.Everything())
	if err != nil {
		return // a cache does not fail
	}
	for _, object := range objects {
		if uses(&object.Spec, group) || c.misses(object.Name, group) {
			c.queue.Forget(object.Name)
			c.queue.Add(object.Name)
			c.queue.AddAfter(object.Name, recheckAfter)
		}
	}
}

func uses(spec *v1alpha1.CompositeControllerSpec, group string) bool {
	isOf := func(apiVersion string) bool {
		version, err := schema.ParseGroupVersion(apiVersion)
		return err == nil && version.Group == group
	}
	for _, child := range spec.ChildResources {
		if isOf(child.APIVersion) {
			return true
		}
	}
	return isOf(spec.ParentResource.APIVersion)
}

// reconcile makes what runs under a name be what the CompositeController of that
// name says. It is not done if it is to be tried again; the error says why it failed.
func (c *composites) reconcile(ctx context.Context, name string) (done bool, err error) {
	logger := klog.FromContext(ctx).WithValues("controller", name)
	object, err := c.lister.Get(name)
	if apierrors.IsNotFound(err) {
		c.remove(ctx, name)
		return true, nil
	}
	if err != nil {
		logger.Error(err, "Read CompositeController")
		return false, err
	}
	hosted := c.of(name)
	if object.DeletionTimestamp != nil {
		return settle(ctx, name, c.retire(ctx, hosted, object))
	}
	spec, err := composite.Resolve(ctx, c.Discovery, object)
	if err == nil {
		c.followSchemas(ctx, spec)
		if object, err = c.reserve(ctx, hosted, object, spec); err != nil {
			return settle(ctx, name, err)
		}
	}
	if err == nil && hosted.runs(object, spec) {
		hosted.setProblem(object, nil)
		hosted.controller.SetSchemas(spec.Schemas)
		hosted.controller.Recheck(ctx)
		hosted.stopWaiting()
		if err := hosted.controller.SetObject(object); err != nil {
			return false, err
		}
		return settle(ctx, name, c.letGo(ctx, hosted, object, spec))
	}
	var next *composite.Controller
	if err == nil {
		next, err = c.build(klog.NewContext(ctx, logger), object, spec)
	}
	if err != nil {
		return c.cannotRun(klog.NewContext(ctx, logger), hosted, object, err), err
	}
	hosted.stopWaiting()
	c.replace(ctx, hosted, object, spec, next)
	return settle(ctx, name, c.letGo(ctx, hosted, object, spec))
}

// cannotRun deals with a spec that cannot be run: what ran before goes on, unless
// the host no longer has the types that works on.
func (c *composites) cannotRun(ctx context.Context, hosted *hostedComposite, object *v1alpha1.CompositeController, err error) (done bool) {
	if ctx.Err() != nil {
		return false // the process ends, which says nothing about the spec
	}
	if hosted.running != nil {
		if _, err := composite.Resolve(ctx, c.Discovery, hosted.running); lacksTypes(err) {
			c.stop(ctx, hosted)
		}
	}
	problem := problemOf(err)
	problem.OldRuns = hosted.controller != nil
	if hosted.setProblem(object, problem) {
		klog.FromContext(ctx).Error(err, "Cannot create new controller")
		if missing, ok := errors.AsType[*composite.NoStatusSubresourceError](err); ok {
			c.Events.NoStatusSubresource(object, object.Name, missing.Parent.GroupVersionKind().String())
		} else {
			c.Events.CreateError(object, err)
		}
	}
	waits := c.awaitSource(ctx, hosted, err)
	return waits || problem.Reason == report.ReasonInvalidSpec || problem.Reason == report.ReasonUnsupported
}

// lacksTypes tells whether a spec cannot be run because the host lacks something.
func lacksTypes(err error) bool {
	if err == nil {
		return false
	}
	reason := problemOf(err).Reason
	return reason == report.ReasonUnknownType || reason == report.ReasonNoStatus
}

// problemOf classifies why a spec cannot be run.
func problemOf(err error) *report.Problem {
	reason := report.ReasonInvalidSpec
	if _, ok := errors.AsType[*host.UnknownTypeError](err); ok {
		reason = report.ReasonUnknownType
	} else if _, ok := errors.AsType[*composite.NoStatusSubresourceError](err); ok {
		reason = report.ReasonNoStatus
	} else if _, ok := errors.AsType[*host.DiscoveryError](err); ok {
		reason = report.ReasonHostUnreachable
	} else if _, ok := errors.AsType[*hook.SourceError](err); ok {
		reason = report.ReasonCredentials
	} else if _, ok := errors.AsType[*composite.UnsupportedError](err); ok {
		reason = report.ReasonUnsupported
	}
	return &report.Problem{Reason: reason, Err: err}
}

// equalSpecs tells whether two CompositeControllers ask for the same.
func equalSpecs(a, b *v1alpha1.CompositeController) bool {
	return a.UID == b.UID && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}
