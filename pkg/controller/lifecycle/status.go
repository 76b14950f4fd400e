// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
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
	// statusTick is the interval at which the state of each controller is compared with its status.
	statusTick = 250 * time.Millisecond
	// statusInterval is the least time between two writes of a status. A change of the condition Ready, or of the observed
	// generation, is written at the next tick. So the status shows a change of a parent less than two seconds later,
	// unless statusesPerTick makes it wait.
	statusInterval = time.Second
	// statusesPerTick limits how many statuses are written at a tick, not counting those whose condition Ready or observed
	// generation changes. It bounds the writes of hundreds of controllers whose parents change all the time. The other
	// statuses are written at the next ticks.
	statusesPerTick = 10
	// statusRecheck is the interval at which the status is compared while the health of the controller does not
	// change. Comparing the health is cheaper than comparing the status.
	statusRecheck = 5 * time.Second
	// statusRetryDelay is the time for which a status is not written after a write has failed.
	statusRetryDelay = 5 * time.Second
	// fillDelay is the delay of the first status write after a controller has started, unless the controller has
	// counted its parents and synced one earlier. Otherwise each start would write the status twice.
	fillDelay = 2 * time.Second
	// replaceDelay is the same for a controller that will replace a running one, and for one that was ready when the
	// previous process ended.
	replaceDelay = 10 * time.Second
	// statusWriters bounds the concurrent writes of statuses.
	statusWriters = 8
)

// statusWriter writes the status of the controller objects of one kind.
type statusWriter struct {
	kind   string
	api    apiClient
	states *states
}

// run keeps the status of all objects up to date until ctx ends.
func (w *statusWriter) run(ctx context.Context) {
	ticker := time.NewTicker(statusTick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		all := w.byAge()
		budget := newStatusBudget()
		// The status of one controller must not wait for hundreds of others.
		workqueue.ParallelizeUntil(ctx, statusWriters, len(all), func(i int) {
			if err := w.write(ctx, all[i], budget); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Failed to write status", "kind", w.kind, "controller", all[i].name)
			}
		})
	}
}

// byAge returns all states, least recently checked first.
func (w *statusWriter) byAge() []*controllerState {
	all := w.states.all()
	checked := make(map[*controllerState]time.Time, len(all))
	for _, state := range all {
		state.mu.Lock()
		checked[state] = state.statusChecked
		state.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b *controllerState) int { return checked[a].Compare(checked[b]) })
	return all
}

// statusBudget is the number of statuses that may still be written at a tick. Its methods may be called
// concurrently.
type statusBudget struct{ left atomic.Int32 }

func newStatusBudget() *statusBudget {
	b := &statusBudget{}
	b.left.Store(statusesPerTick)
	return b
}

func (b *statusBudget) isSpent() bool { return b.left.Load() <= 0 }

// take reports whether one more status may be written.
func (b *statusBudget) take() bool { return b.left.Add(-1) >= 0 }

func (w *statusWriter) write(ctx context.Context, state *controllerState, budget *statusBudget) error {
	object, err := w.api.get(state.name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	now := time.Now()
	state.see(object, now)
	status, due := state.checkStatus(object, now, budget)
	if !due {
		return nil
	}
	changed := object.DeepCopyObject().(controllerObject)
	*changed.GetStatus() = status
	_, err = w.api.updateStatus(ctx, changed)
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

// checkStatus returns what the object's status should be, and whether to write it now. It records when it has
// compared the status with the state. A status that the budget does not allow is compared again at the next tick.
func (s *controllerState) checkStatus(
	object controllerObject, now time.Time, budget *statusBudget,
) (status v1alpha1.ControllerStatus, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.isNew(object, now) || !s.isCurrent(object) || now.Sub(s.statusFailed) < statusRetryDelay {
		return status, false
	}
	before := object.GetStatus()
	problem, known := s.currentProblem(before, now)
	if !known {
		return status, false
	}
	urgent := !report.ReadyIsUpToDate(before, object.GetGeneration(), problem)
	if !urgent && (now.Sub(s.statusChecked) < statusInterval || budget.isSpent()) {
		return status, false
	}
	var health *report.Health
	if s.running != nil {
		health = ptr.To(s.running.controller.Health())
		health.LacksAccount = s.lacksAccount(object)
	}
	if !urgent && now.Sub(s.quiet.since) < statusRecheck && ptr.Equal(health, s.quiet.health) {
		s.statusChecked = now
		return status, false
	}
	status = report.Status(*before, object.GetGeneration(), health, problem)
	due = !equality.Semantic.DeepEqual(status, *before)
	if due && !urgent && !budget.take() {
		return status, false
	}
	s.statusChecked, s.quiet = now, quietStatus{}
	if !due {
		s.quiet = quietStatus{health, now}
	}
	return status, due
}

// lacksAccount reports whether the object has no service account although the server requires one of new controllers.
func (s *controllerState) lacksAccount(object controllerObject) bool {
	return s.accountRequired && object.GetAccess().ServiceAccount == nil
}

// quietStatus is the health that the status was last found to show, and when. It is empty if the status has been
// written since.
type quietStatus struct {
	health *report.Health
	since  time.Time
}

// currentProblem returns why the controller does not run with the current spec; nil if it does. known is false in the
// first moments of a controller, until it sees all its objects, has counted its parents, and has synced one of them.
// The caller holds mu.
func (s *controllerState) currentProblem(
	before *v1alpha1.ControllerStatus, now time.Time,
) (problem *report.Problem, known bool) {
	switch {
	case s.problem != nil:
		return s.problem, true
	case s.prepared != nil:
		problem = s.prepared.controller.CacheProblem()
		if problem == nil || now.Sub(s.prepared.since) < replaceDelay {
			return nil, false
		}
		problem.RunningGeneration = s.running.generation()
		return problem, true
	default:
		delay := fillDelay
		if meta.IsStatusConditionTrue(before.Conditions, v1alpha1.ConditionReady) {
			delay = replaceDelay
		}
		problem, since := s.running.controller.RuntimeProblem(), now.Sub(s.running.since)
		return problem, since >= delay || s.running.controller.IsCounted() && (since >= fillDelay || s.running.hasTried())
	}
}

// writeNotSelected writes to the status of an object, if it still exists, that this process no longer runs it. If
// another process runs it, that one overwrites this status.
func (w *statusWriter) writeNotSelected(ctx context.Context, state *controllerState) error {
	state.mu.Lock()
	known := state.seen.id.uid // the status writer may still see the object
	state.mu.Unlock()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := w.api.getLive(ctx, state.name)
		if err != nil || object.GetUID() != known {
			return err
		}
		changed := object.DeepCopyObject().(controllerObject)
		*changed.GetStatus() = report.Status(*object.GetStatus(), object.GetGeneration(), nil, &report.Problem{
			Reason: v1alpha1.ReasonNotSelected, Err: errors.New("its labels do not match the server's --target-label-selector"),
		})
		_, err = w.api.updateStatus(ctx, changed)
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
