// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/metrics"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/resolve"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// Reconciler keeps a controller running for each CompositeController, or for each
// DecoratorController.
type Reconciler struct {
	parentcontroller.Dependencies
	kind  parentcontroller.Kind
	api   apiClient
	queue workqueue.TypedRateLimitingInterface[string]
	// asking waits for the questions about rights that reconciles have started.
	asking sync.WaitGroup

	queueMetrics     *metrics.Queue
	reconcileMetrics *metrics.Reconciles

	states     *states
	statuses   *statusWriter
	finalizers *finalizers
}

// A controller that cannot be started is retried after firstBackoff. The time doubles with each failure, up to
// maxBackoff. A change of its types or its spec makes it be retried at once.
const (
	firstBackoff = 5 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// workers bounds the controllers that are built, started or stopped concurrently.
const workers = 4

// The names of the reconcilers in metrics.
const (
	compositeReconciler = "composite-metacontroller"
	decoratorReconciler = "decorator-metacontroller"
)

// ForComposites creates the reconciler of CompositeControllers.
func ForComposites(
	client versioned.Interface, informers externalversions.SharedInformerFactory,
	dependencies parentcontroller.Dependencies, drainer *drain.Drainer,
) *Reconciler {
	api := compositeControllers(client, informers)
	return newReconciler(compositeReconciler, resolve.CompositeKind(), api, dependencies, drainer)
}

// ForDecorators creates the reconciler of DecoratorControllers.
func ForDecorators(
	client versioned.Interface, informers externalversions.SharedInformerFactory,
	dependencies parentcontroller.Dependencies, drainer *drain.Drainer,
) *Reconciler {
	api := decoratorControllers(client, informers)
	return newReconciler(decoratorReconciler, resolve.DecoratorKind(), api, dependencies, drainer)
}

func newReconciler(
	name string, kind parentcontroller.Kind, api apiClient, dependencies parentcontroller.Dependencies,
	drainer *drain.Drainer,
) *Reconciler {
	queueMetrics := metrics.NewQueue(name)
	queue := newQueue(name, api, queueMetrics)
	states := newStates(dependencies.RequireServiceAccount)
	return &Reconciler{
		Dependencies:     dependencies,
		kind:             kind,
		api:              api,
		queue:            queue,
		queueMetrics:     queueMetrics,
		reconcileMetrics: metrics.NewReconciles(name, workers),
		states:           states,
		statuses:         &statusWriter{kind: kind.Name, api: api, states: states},
		finalizers: &finalizers{
			kind: kind, api: api, drainer: drainer, events: dependencies.Events, enqueue: queue.Add,
			scanner: drainer.NewScanner(kind.FinalizerPrefix, func() sets.Set[types.UID] { return existing(api) }),
		},
	}
}

// existing returns the UIDs of the controller objects that exist.
func existing(api apiClient) sets.Set[types.UID] {
	existing := sets.New[types.UID]()
	objects, err := api.list()
	if err != nil {
		return existing // an informer does not fail
	}
	for _, object := range objects {
		existing.Insert(object.GetUID())
	}
	return existing
}

// Run reconciles the controller objects until ctx ends, and returns when all controllers have stopped. The caller
// starts the informers.
func (r *Reconciler) Run(ctx context.Context) error {
	defer r.queue.ShutDown()
	for _, collector := range []prometheus.Collector{r.queueMetrics, r.reconcileMetrics} {
		if err := r.Metrics.Register(collector); err != nil {
			return fmt.Errorf("register the metrics of %ss: %w", r.kind.Name, err)
		}
		defer r.Metrics.Unregister(collector)
	}
	informer := r.api.informer()
	enqueue := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			r.queue.Add(name.Name)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, after any) { enqueue(after) }, DeleteFunc: enqueue,
	})
	if err != nil {
		return fmt.Errorf("watch %ss: %w", r.kind.Name, err)
	}
	if !cache.WaitFor(ctx, r.kind.Name+"s", informer.HasSyncedChecker()) {
		return nil
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { r.work(ctx) })
	}
	group.Go(func() { r.statuses.run(ctx) })
	<-ctx.Done()
	r.queue.ShutDown()
	group.Wait()
	r.asking.Wait()
	r.endAll(context.WithoutCancel(ctx))
	return nil
}

// work reconciles names from the queue until it is shut down. When ctx has ended, it drops the queued names.
func (r *Reconciler) work(ctx context.Context) {
	for {
		name, shutdown := r.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() != nil {
			r.queue.Done(name)
			continue
		}
		if r.reconcileMetrics.Measure(func() (bool, error) { return r.reconcileSafely(ctx, name) }) {
			r.queue.Forget(name)
		} else {
			r.queue.AddRateLimited(name)
		}
		r.queue.Done(name)
	}
}

// reconcileSafely turns a panic into an error.
func (r *Reconciler) reconcileSafely(ctx context.Context, name string) (done bool, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			done, err = false, fmt.Errorf("panic: %v", panicked)
			klog.FromContext(ctx).Error(err, "Panic while a controller was being started or stopped",
				"controller", name, "stack", string(debug.Stack()))
		}
	}()
	return r.reconcile(ctx, name)
}

// RequestSyncs enqueues the selected parents of a controller, or only counts them. It returns how many there are, and
// how many more are paused.
func (r *Reconciler) RequestSyncs(
	name string, selection parentcontroller.Selection, onlyCount bool,
) (found v1alpha1.ResyncRequestStatus) {
	if running := r.states.running(name); running != nil {
		parents, paused := running.controller.RequestSyncs(selection, onlyCount)
		found.Parents, found.Paused = int32(parents), int32(paused)
	}
	return found
}

// Kind returns the kind of the controller objects.
func (r *Reconciler) Kind() string { return r.kind.Name }

// Live returns the controller object of a name as it is stored.
func (r *Reconciler) Live(ctx context.Context, name string) (parentcontroller.ControllerObject, error) {
	return r.api.getLive(ctx, name)
}

// Running returns the controller that runs for an object with its current spec; nil if none does.
func (r *Reconciler) Running(of parentcontroller.ControllerObject) *parentcontroller.Controller {
	running := r.states.running(of.GetName())
	if running == nil || !equalSpecs(running.object, of.(controllerObject)) {
		return nil
	}
	return running.controller
}

// Temporary returns a controller for an object, which need not be stored. It does not run, but it sees all objects of
// its types. The caller must call release when done.
func (r *Reconciler) Temporary(
	ctx context.Context, of parentcontroller.ControllerObject,
) (_ *parentcontroller.Controller, release func(), err error) {
	spec, err := r.api.resolve(ctx, r.Discovery, of.(controllerObject))
	if err != nil {
		return nil, nil, r.Discovery.WithHint(ctx, err)
	}
	dependencies := r.Dependencies
	dependencies.Hook.Metrics, dependencies.Tracer = nil, nil
	dependencies.Syncs, dependencies.Calls = nil, nil
	temporary, err := parentcontroller.New(dependencies, spec)
	if err != nil {
		return nil, nil, err
	}
	if account := spec.Access.ServiceAccount; account != nil {
		temporary.Reads = r.Permissions.Require(account, spec.Reads(), func() {})
	}
	release = func() {
		temporary.Close()
		temporary.Reads.Close()
	}
	if err := fill(ctx, temporary); err != nil {
		release()
		return nil, nil, err
	}
	return temporary, release, nil
}

// fill waits until a controller may read the objects that it needs, and sees them.
func fill(ctx context.Context, temporary *parentcontroller.Controller) error {
	if err := temporary.Reads.Check(ctx); err != nil {
		return err
	}
	if err := temporary.ConnectForPreviews(ctx); err != nil {
		return err
	}
	err := temporary.WaitForCaches(ctx)
	if err == nil {
		return nil
	}
	if problem := temporary.CacheProblem(); problem != nil {
		return fmt.Errorf("%w: %w", err, problem.Err)
	}
	return err
}
