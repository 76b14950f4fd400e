// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/composite"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/decorator"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/metrics"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// Reconciler keeps a hosted controller running for each CompositeController, or for each
// DecoratorController.
type Reconciler struct {
	hosted.Dependencies
	kind    hosted.Kind
	own     ownAPI
	drainer *drain.Drainer
	// searches are for what was held before.
	searches *searches
	queue    workqueue.TypedRateLimitingInterface[string]
	// queued and reconciled are the metrics of the queue and of the work on it.
	queued     *metrics.Queue
	reconciled *metrics.Reconciles

	mu     sync.Mutex
	byName map[string]*controllerEntry
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

// The names in metrics of what brings controllers up and down.
const (
	compositeReconciler = "composite-metacontroller"
	decoratorReconciler = "decorator-metacontroller"
)

// ForComposites makes the reconciler of CompositeControllers.
func ForComposites(client versioned.Interface, informers externalversions.SharedInformerFactory, dependencies hosted.Dependencies, drainer *drain.Drainer) *Reconciler {
	return newReconciler(compositeReconciler, composite.Kind(), compositeControllers(client, informers), dependencies, drainer)
}

// ForDecorators makes the reconciler of DecoratorControllers.
func ForDecorators(client versioned.Interface, informers externalversions.SharedInformerFactory, dependencies hosted.Dependencies, drainer *drain.Drainer) *Reconciler {
	return newReconciler(decoratorReconciler, decorator.Kind(), decoratorControllers(client, informers), dependencies, drainer)
}

func newReconciler(name string, kind hosted.Kind, own ownAPI, dependencies hosted.Dependencies, drainer *drain.Drainer) *Reconciler {
	queued := metrics.NewQueue(name)
	r := &Reconciler{
		Dependencies: dependencies,
		kind:         kind,
		own:          own,
		drainer:      drainer,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstBackoff, longestBackoff),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: name, MetricsProvider: queued}),
		queued:     queued,
		reconciled: metrics.NewReconciles(name, builders),
		byName:     map[string]*controllerEntry{},
	}
	r.searches = &searches{find: r.findFinalizers, present: r.present, byType: map[schema.GroupResource]*search{}}
	return r
}

// Run follows the objects of the kind until ctx ends and all hosted controllers have
// stopped. Their informer is started by somebody else.
func (r *Reconciler) Run(ctx context.Context) error {
	defer r.queue.ShutDown()
	for _, measured := range []prometheus.Collector{r.queued, r.reconciled} {
		if err := r.Metrics.Register(measured); err != nil {
			return fmt.Errorf("show metrics of %ss: %w", r.kind.Name, err)
		}
		defer r.Metrics.Unregister(measured)
	}
	informer := r.own.informer()
	enqueue := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			r.queue.Add(name.Name)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, after any) { enqueue(after) }, DeleteFunc: enqueue,
	})
	if err != nil {
		return fmt.Errorf("follow %ss: %w", r.kind.Name, err)
	}
	if !cache.WaitFor(ctx, r.kind.Name+"s", informer.HasSyncedChecker()) {
		return nil
	}
	var workers sync.WaitGroup
	for range builders {
		workers.Go(func() { r.work(ctx) })
	}
	workers.Go(func() { r.writeStatuses(ctx) })
	<-ctx.Done()
	r.queue.ShutDown()
	workers.Wait()
	r.stopAll(ctx)
	return nil
}

func (r *Reconciler) work(ctx context.Context) {
	for {
		name, shutdown := r.queue.Get()
		if shutdown {
			return
		}
		if r.reconciled.Measure(func() (bool, error) { return r.reconcileSafely(ctx, name) }) {
			r.queue.Forget(name)
		} else {
			r.queue.AddRateLimited(name)
		}
		r.queue.Done(name)
	}
}

// reconcileSafely keeps a panic from ending the process.
func (r *Reconciler) reconcileSafely(ctx context.Context, name string) (done bool, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			done, err = false, fmt.Errorf("panic: %v", panicked)
			klog.FromContext(ctx).Error(err, "Panic while a controller was being started or stopped", "controller", name, "stack", string(debug.Stack()))
		}
	}()
	return r.reconcile(ctx, name)
}

// recheckAfter is how long after a type's definition changed the host may still
// answer discovery as before.
const recheckAfter = discovery.SettleTime + time.Second

// GroupChanged has the controllers looked at anew that use types of the group.
func (r *Reconciler) GroupChanged(group string) {
	objects, err := r.own.list()
	if err != nil {
		return // a cache does not fail
	}
	for _, object := range objects {
		if uses(object, group) || r.misses(object.GetName(), group) {
			r.queue.Forget(object.GetName())
			r.queue.Add(object.GetName())
			r.queue.AddAfter(object.GetName(), recheckAfter)
		}
	}
}

func uses(object declared, group string) bool {
	return slices.ContainsFunc(slices.Concat(object.ParentTypes(), object.ChildTypes()), func(rule v1alpha1.ResourceRule) bool {
		version, err := schema.ParseGroupVersion(rule.APIVersion)
		return err == nil && version.Group == group
	})
}

// reconcile makes what runs under a name be what the object of that name says. It is not
// done if it is to be tried again; the error says why it failed.
func (r *Reconciler) reconcile(ctx context.Context, name string) (done bool, err error) {
	logger := klog.FromContext(ctx).WithValues("controller", name)
	object, err := r.own.get(name)
	if apierrors.IsNotFound(err) {
		r.remove(ctx, name)
		return true, nil
	}
	if err != nil {
		logger.Error(err, "Read "+r.kind.Name)
		return false, err
	}
	entry := r.of(name)
	entry.see(object)
	if object.GetDeletionTimestamp() != nil {
		return settle(ctx, name, r.retire(ctx, entry, object))
	}
	spec, err := r.own.resolve(ctx, r.Discovery, object)
	if err == nil {
		r.followSchemas(ctx, spec)
		if object, err = r.reserve(ctx, entry, object, spec); err != nil {
			return settle(ctx, name, err)
		}
	}
	if err == nil && entry.runs(object, spec) {
		entry.setProblem(object, nil)
		entry.controller.SetSchemas(spec.Schemas)
		entry.controller.Recheck(ctx)
		entry.stopWaiting()
		entry.controller.SetObject(spec.Object)
		return settle(ctx, name, r.letGo(ctx, entry, object, spec))
	}
	var next *hosted.Controller
	if err == nil {
		next, err = r.build(klog.NewContext(ctx, logger), object, spec)
	}
	if err != nil {
		return r.cannotRun(klog.NewContext(ctx, logger), entry, object, err), err
	}
	entry.stopWaiting()
	r.replace(ctx, entry, object, spec, next)
	return settle(ctx, name, r.letGo(ctx, entry, object, spec))
}

// cannotRun deals with a spec that cannot be run: what ran before goes on, unless
// the host no longer has the types that works on.
func (r *Reconciler) cannotRun(ctx context.Context, entry *controllerEntry, object declared, err error) (done bool) {
	if ctx.Err() != nil {
		return false // the process ends, which says nothing about the spec
	}
	if entry.running != nil {
		if _, err := r.own.resolve(ctx, r.Discovery, entry.running); lacksTypes(err) {
			r.stop(ctx, entry)
		}
	}
	problem := problemOf(err)
	problem.OldRuns = entry.controller != nil
	if entry.setProblem(object, problem) {
		klog.FromContext(ctx).Error(err, "Cannot create new controller")
		if missing, ok := errors.AsType[*composite.NoStatusSubresourceError](err); ok {
			r.Events.NoStatusSubresource(object, object.GetName(), missing.Parent.GroupVersionKind().String())
		} else {
			r.Events.CreateError(object, err)
		}
	}
	waits := r.awaitSource(ctx, entry, err)
	return waits || problem.Reason == report.ReasonInvalidSpec
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
	if _, ok := errors.AsType[*discovery.UnknownTypeError](err); ok {
		reason = report.ReasonUnknownType
	} else if _, ok := errors.AsType[*composite.NoStatusSubresourceError](err); ok {
		reason = report.ReasonNoStatus
	} else if _, ok := errors.AsType[*discovery.Error](err); ok {
		reason = report.ReasonHostUnreachable
	} else if _, ok := errors.AsType[*hook.SourceError](err); ok {
		reason = report.ReasonCredentials
	}
	return &report.Problem{Reason: reason, Err: err}
}

// equalSpecs tells whether two objects ask for the same. Those of a generation do; to look at the
// specs themselves takes long for what is asked four times a second of each controller.
func equalSpecs(a, b declared) bool {
	if a.GetUID() != b.GetUID() {
		return false
	}
	return a.GetGeneration() == b.GetGeneration() && a.GetGeneration() != 0 || equality.Semantic.DeepEqual(a.GetSpec(), b.GetSpec())
}
