// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
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
	// Missing is the group of a type that the host lacks, and why says so. The type is not set then.
	Missing schema.GroupVersion
	why     error
}

// ResolveResyncOn sets the objects of spec.resyncOn. A controller runs without an object whose type the host lacks.
func (s *Spec) ResolveResyncOn(ctx context.Context, of *discovery.Discovery, objects []v1alpha1.WatchedObject) error {
	for i, one := range objects {
		field := fmt.Sprintf("spec.resyncOn[%d]", i)
		resource, err := of.Resolve(ctx, one.APIVersion, one.Resource)
		name := types.NamespacedName{Namespace: one.Namespace, Name: one.Name}
		if isUnknown(err) {
			group, _ := schema.ParseGroupVersion(one.APIVersion) // it was parsed to resolve it
			s.ResyncOn = append(s.ResyncOn, WatchedObject{Name: name, Field: field, Missing: group, why: err})
			continue
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", field, err)
		case resource.Namespaced && one.Namespace == "":
			return fmt.Errorf("%s: %s are in namespaces: set namespace", field, resource)
		case !resource.Namespaced && one.Namespace != "":
			return fmt.Errorf("%s: %s are in no namespace: remove namespace", field, resource)
		}
		s.ResyncOn = append(s.ResyncOn, WatchedObject{Type: resource, Name: name, Field: field})
	}
	return nil
}

const (
	// firstReadTimeout is how long a controller that starts waits for the objects of spec.resyncOn.
	firstReadTimeout = 5 * time.Second
	// watchedRetryInterval is how long one that could not be read is left alone, and how often it is asked whether one
	// can still be read.
	watchedRetryInterval = 10 * time.Second
)

// watchedObjects are the objects of spec.resyncOn. Its methods may be called concurrently.
type watchedObjects struct {
	mu sync.Mutex
	// versions are those that the objects have, or had before they began to roll out another one, of which nothing is
	// known; zero if none is known.
	versions []uint64
	// started is true if another version is a change.
	started bool
	// problems are those of the objects that cannot be read; nil if there is none.
	problems []*report.Problem
}

func newWatchedObjects(count int) *watchedObjects {
	return &watchedObjects{versions: make([]uint64, count), problems: make([]*report.Problem, count)}
}

// setProblem notes why an object cannot be read, nil if it can. It reports whether that is news.
func (w *watchedObjects) setProblem(i int, err error) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.problems[i]
	if err == nil || before != nil && before.Err.Error() == err.Error() {
		if err == nil {
			w.problems[i] = nil
		}
		return false
	}
	w.problems[i] = &report.Problem{Reason: report.ReasonWatchFailed, Err: err}
	return true
}

// problem returns why an object cannot be read; nil if all can.
func (w *watchedObjects) problem() *report.Problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, problem := range w.problems {
		if problem != nil {
			return problem
		}
	}
	return nil
}

// version returns what is another value when all parents are to be synced. It is zero while the object does not exist,
// and hasEnded is false while it rolls out.
func (w WatchedObject) version(now *object.Object) (version uint64, hasEnded bool) {
	if now == nil {
		return 0, false
	}
	if w.Type.Group != "apps" {
		return now.Hash, true
	}
	var workload workload
	status := &workload.Status
	if err := json.Unmarshal(now.JSON(), &workload); err != nil {
		return now.Hash, true
	}
	switch w.Type.Kind {
	case "Deployment", "StatefulSet":
		wanted := ptr.Deref(workload.Spec.Replicas, 1)
		hasEnded = workload.hasRolledOut(wanted, status.UpdatedReplicas, status.AvailableReplicas, status.Replicas)
	case "DaemonSet":
		hasEnded = workload.hasRolledOut(status.DesiredNumberScheduled, status.UpdatedNumberScheduled,
			status.NumberAvailable, status.CurrentNumberScheduled)
	default:
		return now.Hash, true
	}
	return xxhash.Sum64(workload.Spec.Template), hasEnded
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
	var followed *cache.Followed
	for ctx.Err() == nil {
		err := of.why
		switch {
		case err != nil:
		case followed == nil:
			followed, err = c.Informers.FollowOne(ctx, of.Type, of.Name, func(now *object.Object) {
				if version, hasEnded := of.version(now); c.watched.set(i, version, hasEnded) {
					c.resyncAll(ctx, of)
				}
			})
			if err == nil {
				defer followed.Stop()
			}
		default:
			err = followed.Err()
		}
		read()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			err = fmt.Errorf("%s: %s cannot be read, so no parent is synced when it changes: %w", of.Field, of, err)
		}
		if c.watched.setProblem(i, err) {
			klog.FromContext(ctx).Error(err, "Failed to follow an object")
		}
		select {
		case <-time.After(watchedRetryInterval):
		case <-ctx.Done():
		}
	}
}

func (w WatchedObject) String() string {
	if w.why != nil {
		return w.Name.String()
	}
	return fmt.Sprintf("%s %s", w.Type, w.Name)
}

// set notes the version of an object. It reports whether that is a change after which all parents are to be synced.
// While another version rolls out, it may have answered about some of them. So the end of the rollout is a change, also
// if that was undone.
func (w *watchedObjects) set(i int, version uint64, hasEnded bool) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.versions[i]
	switch {
	case version == 0: // it does not exist
		return false
	case hasEnded:
		w.versions[i] = version
		return w.started && before != version
	case before != version:
		w.versions[i] = 0
	}
	return false
}

// resyncAll has all parents synced because of an object.
func (c *Controller) resyncAll(ctx context.Context, because WatchedObject) {
	klog.FromContext(ctx).Info("All parents are synced again, because an object of spec.resyncOn has changed", "object", because.Name, "kind", because.Type.Kind)
	c.resyncRequests.add(syncqueue.Resync, c.allParents())
}
