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

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/composite"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/decorator"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/lifecycle/drain"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/metrics"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

// Reconciler keeps a controller running for each CompositeController, or for each
// DecoratorController.
type Reconciler struct {
	hosted.Dependencies
	kind    hosted.Kind
	api     apiClient
	drainer *drain.Drainer
	scanner *drain.Scanner
	queue   workqueue.TypedRateLimitingInterface[string]
	// asking are the questions about rights that reconciles have begun.
	asking sync.WaitGroup

	queueMetrics     *metrics.Queue
	reconcileMetrics *metrics.Reconciles

	mu sync.Mutex
	// states are the states of the controller objects, by their names.
	states map[string]*controllerState
}

// A controller that cannot be started is tried again after firstBackoff. The time doubles with each
// failure, up to maxBackoff. A change of its types or its spec has it tried at once.
const (
	firstBackoff = 5 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// workers is how many controllers are built, started or stopped at once.
const workers = 4

// The names of the reconcilers in metrics.
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

func newReconciler(name string, kind hosted.Kind, api apiClient, dependencies hosted.Dependencies, drainer *drain.Drainer) *Reconciler {
	queueMetrics := metrics.NewQueue(name)
	r := &Reconciler{
		Dependencies:     dependencies,
		kind:             kind,
		api:              api,
		drainer:          drainer,
		queue:            newQueue(name, api, queueMetrics),
		queueMetrics:     queueMetrics,
		reconcileMetrics: metrics.NewReconciles(name, workers),
		states:           map[string]*controllerState{},
	}
	r.scanner = drainer.NewScanner(kind.FinalizerPrefix, r.existing)
	return r
}

// newQueue returns a queue of names that is fair to the accounts of the controllers.
func newQueue(name string, api apiClient, metrics *metrics.Queue) workqueue.TypedRateLimitingInterface[string] {
	fair := newFairQueue(func(name string) host.Account {
		object, err := api.get(name)
		if err != nil {
			return host.Account{}
		}
		return hosted.AccountOf(object.GetAccess())
	})
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstBackoff, maxBackoff),
		workqueue.TypedRateLimitingQueueConfig[string]{
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
				Name: name, MetricsProvider: metrics,
				Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
					Name: name, MetricsProvider: metrics, Queue: fair,
				}),
			}),
		})
}

// existing returns the UIDs of the controller objects that exist.
func (r *Reconciler) existing() sets.Set[types.UID] {
	existing := sets.New[types.UID]()
	objects, err := r.api.list()
	if err != nil {
		return existing // an informer does not fail
	}
	for _, object := range objects {
		existing.Insert(object.GetUID())
	}
	return existing
}

// Run reconciles the controller objects until ctx ends and all controllers have stopped. The caller
// starts the informers.
func (r *Reconciler) Run(ctx context.Context) error {
	defer r.queue.ShutDown()
	for _, collector := range []prometheus.Collector{r.queueMetrics, r.reconcileMetrics} {
		if err := r.Metrics.Register(collector); err != nil {
			return fmt.Errorf("show metrics of %ss: %w", r.kind.Name, err)
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
		return fmt.Errorf("follow %ss: %w", r.kind.Name, err)
	}
	if !cache.WaitFor(ctx, r.kind.Name+"s", informer.HasSyncedChecker()) {
		return nil
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { r.work(ctx) })
	}
	group.Go(func() { r.writeStatuses(ctx) })
	<-ctx.Done()
	r.queue.ShutDown()
	group.Wait()
	r.asking.Wait()
	r.endAll(context.WithoutCancel(ctx))
	return nil
}

// work reconciles names from the queue until it is shut down. What is queued when ctx ends is left.
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
