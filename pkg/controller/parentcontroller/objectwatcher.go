// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// WatchedObject is an object whose change causes a sync of all parents.
type WatchedObject struct {
	Type object.Type
	Name types.NamespacedName
	// Field is the field of the spec that names it.
	Field string
	// If the host does not serve the type, Missing is its group and version, why is the error, and Type is not set.
	Missing schema.GroupVersion
	why     error
}

func (w WatchedObject) String() string {
	if w.why != nil {
		return w.Name.String()
	}
	return fmt.Sprintf("%s %s", w.Type, w.Name)
}

// objectWatcher watches the objects of spec.resyncOn. Its methods may be called concurrently.
type objectWatcher struct {
	objects   []WatchedObject
	informers *cache.Informers
	// changed is called after a change of an object.
	changed func(context.Context, WatchedObject)

	mu sync.Mutex
	// versions holds the version of each object. During the rollout of an object, it holds the version before the
	// rollout. An unknown version is zero.
	versions []uint64
	// started is true if another version is a change.
	started bool
	// problems are the errors of objects that cannot be read; nil if all can be read.
	problems []*report.Problem
}

func newObjectWatcher(
	objects []WatchedObject, informers *cache.Informers, changed func(context.Context, WatchedObject),
) *objectWatcher {
	return &objectWatcher{
		objects: objects, informers: informers, changed: changed,
		versions: make([]uint64, len(objects)), problems: make([]*report.Problem, len(objects)),
	}
}

const (
	// firstReadTimeout bounds the time for which a starting controller waits for the objects of spec.resyncOn.
	firstReadTimeout = 5 * time.Second
	// watchedRetryInterval is the time after which reading an object is tried again, and how often it is checked
	// whether an object can still be read.
	watchedRetryInterval = 10 * time.Second
)

// start watches the objects until stop is called. It waits until they have been read, but not for long.
func (w *objectWatcher) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var following, reading sync.WaitGroup
	for i, one := range w.objects {
		read := sync.OnceFunc(reading.Done)
		reading.Add(1)
		following.Go(func() { w.watch(ctx, i, one, read) })
	}
	read := make(chan struct{})
	following.Go(func() { reading.Wait(); close(read) })
	select {
	case <-read:
	case <-time.After(firstReadTimeout):
	case <-ctx.Done():
	}
	w.mu.Lock()
	w.started = true
	w.mu.Unlock()
	return func() { cancel(); following.Wait() }
}

// watch follows one object until ctx ends. It calls read when the object was read or could not be read.
func (w *objectWatcher) watch(ctx context.Context, i int, of WatchedObject, read func()) {
	defer read()
	var followed *cache.Followed
	for ctx.Err() == nil {
		err := of.why
		switch {
		case err != nil:
		case followed == nil:
			followed, err = w.informers.FollowOne(ctx, of.Type, of.Name, func(now *object.Object) {
				if version, hasEnded := of.version(now); w.set(i, version, hasEnded) {
					w.changed(ctx, of)
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
			err = fmt.Errorf(
				"%s: the server cannot read %s, so it syncs no parents when this object changes: %w", of.Field, of, err)
		}
		if w.setProblem(i, err) {
			klog.FromContext(ctx).Error(err, "Failed to watch an object")
		}
		select {
		case <-time.After(watchedRetryInterval):
		case <-ctx.Done():
		}
	}
}

// set notes the version of an object. It reports whether that is a change after which all parents must be synced. While
// another version rolls out, it may have answered about some of them. So the end of the rollout is a change, even if
// the rollout was undone.
func (w *objectWatcher) set(i int, version uint64, hasEnded bool) (changed bool) {
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

// setProblem notes why an object cannot be read, nil if it can. It reports whether the problem is a new one.
func (w *objectWatcher) setProblem(i int, err error) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.problems[i]
	if err == nil || before != nil && before.Err.Error() == err.Error() {
		if err == nil {
			w.problems[i] = nil
		}
		return false
	}
	w.problems[i] = &report.Problem{Reason: v1alpha1.ReasonWatchFailed, Err: err}
	return true
}

// problem returns why an object cannot be read; nil if all can.
func (w *objectWatcher) problem() *report.Problem {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, problem := range w.problems {
		if problem != nil {
			return problem
		}
	}
	return nil
}

// version returns a value that changes when all parents must be synced. It is zero while the object does not exist, and
// hasEnded is false while the object rolls out.
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

// workload has the fields that show whether the rollout of a Deployment, a StatefulSet or a DaemonSet has finished.
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

// hasRolledOut reports whether all Pods of a workload are updated and available, and no others are left.
func (w *workload) hasRolledOut(wanted, updated, available, there int32) bool {
	return w.Status.ObservedGeneration >= w.Metadata.Generation && updated >= wanted && available >= wanted &&
		there <= updated
}
