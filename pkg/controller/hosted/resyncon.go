// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// WatchedObject is an object whose change has all parents synced.
type WatchedObject struct {
	Type object.Type
	Name types.NamespacedName
	// Field is the field of the spec that names it.
	Field string
}

// ResolveResyncOn sets the objects of spec.resyncOn. The error is a *discovery.UnknownTypeError if the host lacks a type.
func (s *Spec) ResolveResyncOn(ctx context.Context, discovery *discovery.Discovery, objects []v1alpha1.WatchedObject) error {
	for i, one := range objects {
		field := fmt.Sprintf("spec.resyncOn[%d]", i)
		of, err := discovery.Resolve(ctx, one.APIVersion, one.Resource)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", field, err)
		case of.Namespaced && one.Namespace == "":
			return fmt.Errorf("%s: %s are in namespaces: set namespace", field, of)
		case !of.Namespaced && one.Namespace != "":
			return fmt.Errorf("%s: %s are in no namespace: remove namespace", field, of)
		}
		s.ResyncOn = append(s.ResyncOn, WatchedObject{of, types.NamespacedName{Namespace: one.Namespace, Name: one.Name}, field})
	}
	return nil
}

const (
	// firstReadTimeout is how long a controller that starts waits for the objects of spec.resyncOn.
	firstReadTimeout = 5 * time.Second
	// watchedRetryInterval is how long one that could not be read is left alone.
	watchedRetryInterval = 10 * time.Second
)

// watchedObjects are the objects of spec.resyncOn. Its methods may be called concurrently.
type watchedObjects struct {
	mu sync.Mutex
	// versions are those that the objects have or, while they roll out, had before; zero if that is not known.
	versions []uint64
	// started is true if another version is a change.
	started bool
	// problem is that of an object that cannot be read; nil if there is none.
	problem atomic.Pointer[report.Problem]
}

// version returns what is another value when all parents are to be synced. It is not known while an object does not exist, or rolls
// out.
func (w WatchedObject) version(now *object.Object) (version uint64, known bool) {
	if now == nil {
		return 0, false
	}
	if w.Type.Group != "apps" {
		return now.Hash, true
	}
	var workload workload
	if err := json.Unmarshal(now.JSON(), &workload); err != nil {
		return now.Hash, true
	}
	switch w.Type.Kind {
	case "Deployment", "StatefulSet":
		known = workload.hasRolledOut(ptr.Deref(workload.Spec.Replicas, 1), workload.Status.UpdatedReplicas, workload.Status.AvailableReplicas, workload.Status.Replicas)
	case "DaemonSet":
		status := workload.Status
		known = workload.hasRolledOut(status.DesiredNumberScheduled, status.UpdatedNumberScheduled, status.NumberAvailable, status.CurrentNumberScheduled)
	default:
		return now.Hash, true
	}
	return xxhash.Sum64(workload.Spec.Template), known
}

// workload is what decides whether the rollout of a Deployment, a StatefulSet or a DaemonSet has finished.
type workload struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int32          `json:"replicas"`
		Template json.RawMessage `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Replicas           int32 `json:"replicas"`
		UpdatedReplicas    int32 `json:"updatedReplicas"`
		AvailableReplicas  int32 `json:"availableReplicas"`

		DesiredNumberScheduled int32 `json:"desiredNumberScheduled"`
		CurrentNumberScheduled int32 `json:"currentNumberScheduled"`
		UpdatedNumberScheduled int32 `json:"updatedNumberScheduled"`
		NumberAvailable        int32 `json:"numberAvailable"`
	} `json:"status"`
}

// hasRolledOut reports whether all that there are of a workload are updated and available, and no others are left.
func (w *workload) hasRolledOut(wanted, updated, available, there int32) bool {
	return w.Status.ObservedGeneration >= w.Metadata.Generation && updated >= wanted && available >= wanted && there <= updated
}

// watchObjects follows the objects of spec.resyncOn until stop is called. It waits until they have been read, but not for long.
func (c *Controller) watchObjects(ctx context.Context) (stop func()) {
	watched := c.watched
	watched.versions = make([]uint64, len(c.spec.ResyncOn))
	ctx, cancel := context.WithCancel(ctx)
	var following, reading sync.WaitGroup
	for i, one := range c.spec.ResyncOn {
		read := sync.OnceFunc(reading.Done)
		reading.Add(1)
		following.Go(func() { c.watchObject(ctx, i, one, read) })
	}
	read := make(chan struct{})
	following.Go(func() { reading.Wait(); close(read) })
	select {
	case <-read:
	case <-time.After(firstReadTimeout):
	case <-ctx.Done():
	}
	watched.mu.Lock()
	watched.started = true
	watched.mu.Unlock()
	return func() { cancel(); following.Wait() }
}

// watchObject follows one object until ctx ends. It calls read when the object was read or could not be read.
func (c *Controller) watchObject(ctx context.Context, i int, of WatchedObject, read func()) {
	defer read()
	for ctx.Err() == nil {
		stop, err := c.Informers.Follow(ctx, of.Type, of.Name, func(now *object.Object) {
			if version, known := of.version(now); known && c.watched.set(i, version) {
				c.resyncAll(ctx, of)
			}
		})
		read()
		if err == nil {
			c.watched.problem.Store(nil)
			<-ctx.Done()
			stop()
			return
		}
		if ctx.Err() != nil {
			return
		}
		err = fmt.Errorf("%s: %s %s cannot be read, so no parent is synced when it changes: %w", of.Field, of.Type, of.Name, err)
		klog.FromContext(ctx).Error(err, "Failed to follow an object")
		c.watched.problem.Store(&report.Problem{Reason: report.ReasonWatchFailed, Err: err})
		select {
		case <-time.After(watchedRetryInterval):
		case <-ctx.Done():
		}
	}
}

// set notes the version of an object. It reports whether that is a change after which all parents are to be synced.
func (w *watchedObjects) set(i int, version uint64) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.versions[i]
	w.versions[i] = version
	return w.started && before != version
}

// resyncAll has all parents synced because of an object.
func (c *Controller) resyncAll(ctx context.Context, because WatchedObject) {
	klog.FromContext(ctx).Info("All parents are synced again, because an object of spec.resyncOn has changed", "object", because.Name, "kind", because.Type.Kind)
	c.resyncRequests.add(syncqueue.Resync, c.allParents())
}
