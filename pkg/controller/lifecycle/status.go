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
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

const (
	// statusTick is how often the state of each controller is compared with its status.
	statusTick = 250 * time.Millisecond
	// statusInterval is how often a status is written at most. A change of the condition Ready,
	// or of the observed generation, is written at the next tick.
	statusInterval = 5 * time.Second
	// fillDelay is how long the status is not written after a controller has started, unless it sees
	// all objects of its types before. Otherwise each start would write the status twice.
	fillDelay = 2 * time.Second
	// replaceDelay is the same for a controller that is to replace another one, which runs meanwhile,
	// and for one that was ready when the process before this one ended.
	replaceDelay = 10 * time.Second
	// statusWriters is how many statuses are written at once.
	statusWriters = 8
)

// writeStatuses keeps the status of all objects up to date until ctx ends.
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
		all := slices.Collect(maps.Values(r.states))
		r.mu.Unlock()
		// The status of one controller must not wait for hundreds of others.
		workqueue.ParallelizeUntil(ctx, statusWriters, len(all), func(i int) {
			if err := r.writeStatus(ctx, all[i]); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Failed to write status", "kind", r.kind.Name, "controller", all[i].name)
			}
		})
	}
}

func (r *Reconciler) writeStatus(ctx context.Context, state *controllerState) error {
	object, err := r.api.get(state.name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	now := time.Now()
	state.see(object, now)
	status, due := state.checkStatus(object, now)
	if !due {
		return nil
	}
	changed := object.DeepCopyObject().(controllerObject)
	*changed.GetStatus() = status
	_, err = r.api.updateStatus(ctx, changed)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the next tick sees the newer object
	}
	if err != nil {
		state.mu.Lock()
		state.statusFailed = time.Now()
		state.mu.Unlock()
	}
	return err
}

// checkStatus returns what the object's status should be, and whether to write it now. It notes
// when it has compared the status with the state.
func (s *controllerState) checkStatus(object controllerObject, now time.Time) (status v1alpha1.ControllerStatus, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.isNew(object, now) || !s.isCurrent(object) || now.Sub(s.statusFailed) < statusInterval {
		return status, false
	}
	problem, known := s.currentProblem(object, now)
	if !known {
		return status, false
	}
	if now.Sub(s.statusChecked) < statusInterval && report.ReadyIsUpToDate(object.GetStatus(), object.GetGeneration(), problem) {
		return status, false
	}
	s.statusChecked = now
	var health *report.Health
	if s.running != nil {
		health = ptr.To(s.running.controller.Health())
	}
	status = report.Status(*object.GetStatus(), object.GetGeneration(), health, problem)
	return status, !equality.Semantic.DeepEqual(status, *object.GetStatus())
}

// currentProblem returns why the controller does not run as the current spec says; nil if it does.
// It is not known for the first moments of a controller that does not see all its objects yet. The
// caller holds mu.
func (s *controllerState) currentProblem(object controllerObject, now time.Time) (problem *report.Problem, known bool) {
	switch {
	case s.problem != nil:
		return s.problem, true
	case s.prepared != nil:
		problem = s.prepared.controller.CacheProblem()
		if problem == nil || now.Sub(s.prepared.since) < replaceDelay {
			return nil, false
		}
		problem.LastSpecRuns = s.running != nil
		return problem, true
	default:
		delay := fillDelay
		if meta.IsStatusConditionTrue(object.GetStatus().Conditions, v1alpha1.ConditionReady) {
			delay = replaceDelay
		}
		problem = s.running.controller.RuntimeProblem()
		return problem, now.Sub(s.running.since) >= delay || s.running.controller.IsFilled()
	}
}

// writeNotSelected writes into the status of an object, if it still exists, that this process no
// longer runs it. If another process does, that overwrites it.
func (r *Reconciler) writeNotSelected(ctx context.Context, state *controllerState) error {
	state.mu.Lock()
	known := state.seen.id.uid // the status writer may still see the object
	state.mu.Unlock()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := r.api.getLive(ctx, state.name)
		if err != nil || object.GetUID() != known {
			return err
		}
		changed := object.DeepCopyObject().(controllerObject)
		*changed.GetStatus() = report.Status(*object.GetStatus(), object.GetGeneration(), nil, &report.Problem{
			Reason: report.ReasonNotSelected, Err: errors.New("its labels do not match the server's --target-label-selector"),
		})
		_, err = r.api.updateStatus(ctx, changed)
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
