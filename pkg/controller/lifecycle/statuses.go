// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

const (
	// statusTick is how often the state of the controllers is looked at.
	statusTick = 250 * time.Millisecond
	// statusInterval is how often a controller's status is brought up to date. Whether
	// it is ready, and at which generation, is told at once.
	statusInterval = 5 * time.Second
	// statusWriters is how many statuses are written at once.
	statusWriters = 8
	// newFor is how long a new spec is left alone: who creates a controller and
	// then changes it, with what the first answer was, would be in conflict with us.
	newFor = statusTick
)

// writeStatuses keeps the status of all objects true until ctx ends.
func (r *Reconciler) writeStatuses(ctx context.Context) {
	ticker := time.NewTicker(statusTick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		all := slices.Collect(maps.Values(r.byName))
		r.mu.Unlock()
		// That of one must not wait for hundreds of others.
		workqueue.ParallelizeUntil(ctx, statusWriters, len(all), func(i int) {
			if err := r.writeStatus(ctx, all[i]); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Write status of "+r.kind.Name, "controller", all[i].name)
			}
		})
	}
}

// disown says in the status of an object, if it is still there, that this process does not
// run it any more. If another one does, that will say so.
func (r *Reconciler) disown(ctx context.Context, entry *controllerEntry) error {
	entry.mu.Lock()
	known := entry.seen.uid // statuses may still be looked at
	entry.mu.Unlock()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := r.own.live(ctx, entry.name)
		if err != nil || object.GetUID() != known {
			return err
		}
		changed := object.DeepCopyObject().(declared)
		*changed.GetStatus() = report.Status(*object.GetStatus(), object.GetGeneration(), nil, &report.Problem{
			Reason: report.ReasonNotSelected, Err: errors.New("its labels do not match the server's --target-label-selector"),
		})
		_, err = r.own.updateStatus(ctx, changed)
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (r *Reconciler) writeStatus(ctx context.Context, entry *controllerEntry) error {
	object, err := r.own.get(entry.name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	status, due := entry.status(object, time.Now())
	if !due {
		return nil
	}
	changed := object.DeepCopyObject().(declared)
	*changed.GetStatus() = status
	_, err = r.own.updateStatus(ctx, changed)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the next look is at the newer object
	}
	if err != nil {
		entry.mu.Lock()
		entry.statusRefused = time.Now()
		entry.mu.Unlock()
	}
	return err
}

// status returns what the object's status should be, and whether it is time to
// write it.
func (h *controllerEntry) status(object declared, now time.Time) (status v1alpha1.ControllerStatus, due bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isNew(object, now) || !h.looked(object) || now.Sub(h.statusRefused) < statusInterval {
		return status, false
	}
	problem := h.problem
	if problem == nil {
		problem = h.controller.RuntimeProblem()
	}
	if now.Sub(h.statusLooked) < statusInterval && report.ReadyIsUpToDate(object.GetStatus(), object.GetGeneration(), problem) {
		return status, false
	}
	h.statusLooked = now
	var health *report.Health
	if h.controller != nil {
		health = ptr.To(h.controller.Health())
	}
	status = report.Status(*object.GetStatus(), object.GetGeneration(), health, problem)
	return status, !equality.Semantic.DeepEqual(status, *object.GetStatus())
}
