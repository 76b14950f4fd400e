// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/metrics"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

// fairQueue has the names of controllers that wait to be reconciled. The accounts that controllers act as take turns,
// so an account with a thousand controllers delays another account by one. It is a workqueue.Queue, whose user locks
// it.
type fairQueue struct {
	accountOf func(name string) host.Account
	// waiting are the names of each account, and turns the accounts with names, the next one first.
	waiting map[host.Account][]string
	turns   []host.Account
	length  int
}

func newFairQueue(accountOf func(name string) host.Account) *fairQueue {
	return &fairQueue{accountOf: accountOf, waiting: map[host.Account][]string{}}
}

// Touch implements workqueue.Queue. A name keeps its place.
func (q *fairQueue) Touch(string) {}

// Push implements workqueue.Queue.
func (q *fairQueue) Push(name string) {
	account := q.accountOf(name)
	if len(q.waiting[account]) == 0 {
		q.turns = append(q.turns, account)
	}
	q.waiting[account] = append(q.waiting[account], name)
	q.length++
}

// Len implements workqueue.Queue.
func (q *fairQueue) Len() int { return q.length }

// Pop implements workqueue.Queue.
func (q *fairQueue) Pop() string {
	account := q.turns[0]
	q.turns = q.turns[1:]
	names := q.waiting[account]
	if len(names) > 1 {
		q.waiting[account] = names[1:]
		q.turns = append(q.turns, account)
	} else {
		delete(q.waiting, account)
	}
	q.length--
	return names[0]
}

// newQueue returns a queue of names that is fair to the accounts of the controllers.
func newQueue(name string, api apiClient, metrics *metrics.Queue) workqueue.TypedRateLimitingInterface[string] {
	fair := newFairQueue(func(name string) host.Account {
		object, err := api.get(name)
		if err != nil {
			return host.Account{}
		}
		return parentcontroller.AccountOf(object.GetAccess())
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

// Beside its own events, a controller object is reconciled again when the host changes the types that it uses
// (GroupChanged), may publish new schemas of them (recheckSchemas), or changes the Secret or ConfigMap that its hooks
// miss (followSource), and when controllers are held or no longer held (HoldChanged).

// recheckAfter is the time for which discovery may still return the former definition of a type after it has
// changed.
const recheckAfter = discovery.SettleTime + time.Second

// GroupChanged enqueues the controllers that use types of an API group of the host.
func (r *Reconciler) GroupChanged(group string) {
	objects, err := r.api.list()
	if err != nil {
		return // an informer does not fail
	}
	for _, object := range objects {
		if uses(object, group) || r.misses(object.GetName(), group) {
			r.queue.Forget(object.GetName())
			r.queue.Add(object.GetName())
			r.queue.AddAfter(object.GetName(), recheckAfter)
		}
	}
}

// uses reports whether the spec of an object names a type of an API group.
func uses(object controllerObject, group string) bool {
	types := slices.Concat(object.ParentTypes(), object.ChildTypes(), object.GetAccess().RelatedResources)
	return slices.ContainsFunc(types, func(rule v1alpha1.ResourceRule) bool {
		version, err := schema.ParseGroupVersion(rule.APIVersion)
		return err == nil && version.Group == group
	})
}

// misses reports whether the controller of a name needs a related type of an API group that the host did not have.
func (r *Reconciler) misses(name, group string) bool {
	running := r.states.running(name)
	return running != nil && running.controller.MissesTypeOf(group)
}

const (
	// schemasRecheck is after how long a controller is reconciled again if the host may soon publish new schemas of its
	// types.
	schemasRecheck = 5 * time.Second
	// schemasRetry is the same if the host publishes no schema of one of its types.
	schemasRetry = time.Minute
)

// recheckSchemas requeues a controller that may not have the schemas of its types yet.
func (r *Reconciler) recheckSchemas(ctx context.Context, spec *parentcontroller.Spec) {
	if spec.SchemasErr != nil {
		klog.FromContext(ctx).Error(spec.SchemasErr,
			"Failed to read the schemas of all types; children without one are merged without it", "controller", spec.Name)
	}
	switch {
	case !spec.SchemasStable:
		r.queue.AddAfter(spec.Name, schemasRecheck)
	case spec.LacksSchemas():
		r.queue.AddAfter(spec.Name, schemasRetry)
	}
}

// followSource enqueues a controller when the Secret or ConfigMap that it cannot run without changes. It reports
// whether the error names one and it is now followed.
func (r *Reconciler) followSource(ctx context.Context, state *controllerState, err error) bool {
	// Stop following the former one only when the new one is followed, which may be the same.
	if state.stopFollowing != nil {
		defer state.stopFollowing()
		state.stopFollowing = nil
	}
	unusable, ok := errors.AsType[*hook.SourceError](err)
	if !ok {
		return false
	}
	ctx, cancel := withReadTimeout(withController(ctx, state.name))
	defer cancel()
	stop, err := r.Informers.Follow(ctx, unusable.Type, unusable.Name, func(now *object.Object) {
		if resourceVersion(now) != unusable.ResourceVersion {
			r.queue.Forget(state.name)
			r.queue.Add(state.name)
		}
	})
	if err != nil {
		return false // the problem of the controller already says that the host refuses
	}
	state.stopFollowing = stop
	return true
}

// resourceVersion returns the resource version of an object. It is empty if the object is nil.
func resourceVersion(of *object.Object) string {
	if of == nil {
		return ""
	}
	return of.ResourceVersion
}

// readTimeout bounds the time that the host may take to return a Secret or ConfigMap.
const readTimeout = 10 * time.Second

func withReadTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, readTimeout, fmt.Errorf("no answer within %s", readTimeout))
}

// HoldChanged enqueues all controllers, because whether they may run has changed.
func (r *Reconciler) HoldChanged() {
	objects, err := r.api.list()
	if err != nil {
		return // an informer does not fail
	}
	for _, object := range objects {
		r.queue.Forget(object.GetName())
		r.queue.Add(object.GetName())
	}
}
