// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/writeloop"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// finalizerTimeout limits how long the host may take to store a finalizer.
const finalizerTimeout = 10 * time.Second

// finalizerPostponedError is returned for a sync that has to add or remove the finalizer of the
// parent but must wait, because another client undoes that again and again.
type finalizerPostponedError struct{ after time.Duration }

func (e *finalizerPostponedError) Error() string {
	return fmt.Sprintf("the server throttles writes of the finalizer of the parent; the next write waits %s", e.after)
}

// finalizers puts the finalizer of a controller on parents, and removes it.
type finalizers struct {
	observer *observe.Observer
	actor    *act.Actor
	guard    *writeloop.Guard
	reporter *status.Reporter
}

// observe begins the snapshot of a parent. Before, it puts the controller's finalizer on the parent or removes it,
// if that is due. The snapshot is nil if the parent does not exist, or is not in the controller's namespaces.
func (f *finalizers) observe(ctx context.Context, state *parentState, parent object.Key) (*pipeline.Snapshot, error) {
	snapshot := f.observer.Parent(parent)
	if snapshot == nil {
		return nil, nil
	}
	step, err := plan.FinalizerStep(snapshot)
	if step == nil || err != nil {
		return snapshot, err
	}
	state.planning.NoOp = planner.NoOp{}
	if err := f.postpone(snapshot, step); err != nil {
		return nil, err
	}
	// This write continues when the controller is stopped: it must be complete before the finalizer is removed from
	// all parents.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalizerTimeout)
	defer cancel()
	outcomes := f.actor.Act(writing, snapshot, &pipeline.Plan{Steps: []pipeline.Step{*step}})
	f.observer.Wrote(&state.pending, outcomes)
	f.guard.Wrote(snapshot, outcomes, time.Now())
	state.finalizerSteps = outcomes
	switch outcome := outcomes[0]; {
	case outcome.Err != nil:
		return nil, outcome.Err
	case outcome.Conflict:
		return nil, overtaken(&outcome)
	case outcome.Result != nil && !snapshot.NeedsFinalizer:
		f.reporter.Events.NotFinalized(snapshot.Parent, snapshot.Finalizer, pipeline.UnfinalizedReason(step.Why))
	}
	if latest := outcomes[0].Latest(); !snapshot.Outside && !latest.IsRemoved() {
		return f.observer.ParentAs(latest), nil
	}
	return nil, nil
}

// postpone returns a *finalizerPostponedError if the step must wait. It writes the event
// about the write loop, if one is due.
func (f *finalizers) postpone(snapshot *pipeline.Snapshot, step *pipeline.Step) error {
	now := time.Now()
	until, loops := f.guard.PostponeStep(snapshot, step, now)
	f.reporter.WriteLoops(snapshot.Parent, loops, now)
	if until.IsZero() {
		return nil
	}
	return &finalizerPostponedError{after: until.Sub(now)}
}

// A parent that is being deleted stays until its finalize hook answers "finalized": true. So does its
// namespace, or its CustomResourceDefinition, if that is being deleted. A hook may take some time. But
// if no child is deleted for finalizeThreshold, the parent is failing.

// finalizeThreshold bounds the time that a finalize hook may take between the deletions of two children.
const finalizeThreshold = 30 * time.Second

// finalization is the progress of the finalization of a parent. It is nil before the finalization starts and after it
// ends.
type finalization struct {
	// since is the time of the first answer of the hook, and progress is the time at which a child was last found to
	// be deleted.
	since, progress time.Time
	children        int
	// saysFalse is true if the last answer had the field finalized.
	saysFalse bool
}

// next returns how far the finalization is after an answer about the snapshot.
func (f *finalization) next(snapshot *pipeline.Snapshot, answer *pipeline.Response, now time.Time) *finalization {
	if !snapshot.Finalizing || answer.Finalized || !slices.Contains(snapshot.Parent.Finalizers, snapshot.Finalizer) {
		return nil
	}
	children := 0
	for _, group := range snapshot.Children {
		children += len(group.Claimed)
	}
	next := finalization{since: now, progress: now}
	if f != nil {
		next = *f
		if children < f.children {
			next.progress = now
		}
	}
	next.children = children
	if !answer.IsNoOp { // else it says the same as the last one, and was not read
		next.saysFalse = answer.SaysFinalized
	}
	return &next
}

// due returns when the parent is failing if nothing happens until then. A child may take the time of its
// graceful deletion.
func (f *finalization) due(snapshot *pipeline.Snapshot) time.Time {
	latest := f.progress
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp != nil && child.DeletionTimestamp.After(latest) {
				latest = child.DeletionTimestamp.Time
			}
		}
	}
	return latest.Add(finalizeThreshold)
}

// describe returns the reason why a finalization makes no progress. definitionWaits is true if the
// CustomResourceDefinition of the parent also waits.
func (f *finalization) describe(snapshot *pipeline.Snapshot, definitionWaits bool) string {
	since := f.since
	if deleted := snapshot.Parent.DeletionTimestamp; deleted != nil {
		since = deleted.Time
	}
	var text strings.Builder
	fmt.Fprintf(&text, "the finalize hook has not finished, and this object has been waiting for it since %s: ",
		since.UTC().Format(time.RFC3339))
	if f.saysFalse {
		text.WriteString(`the last answer of the hook has "finalized": false`)
	} else {
		text.WriteString(`the last answer of the hook has no field "finalized"`)
	}
	text.WriteString(`; the cluster cannot delete this object until the hook returns "finalized": true`)
	if children := describeChildren(snapshot); children == "" {
		text.WriteString("; the hook no longer sees any children")
	} else {
		text.WriteString("; children that still exist: " + children)
	}
	if definitionWaits {
		text.WriteString("; its CustomResourceDefinition is being deleted, and also waits")
	}
	return text.String()
}

// describeChildren names the first few children, those that are being deleted first. It returns an
// empty text if there are none.
func describeChildren(snapshot *pipeline.Snapshot) string {
	var leaving, staying []string
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			switch name := object.KeyOf(child).String(); {
			case child.DeletionTimestamp == nil:
				staying = append(staying, name)
			case len(child.Finalizers) == 0:
				leaving = append(leaving, name+" (is being deleted)")
			default:
				leaving = append(leaving, fmt.Sprintf("%s (is being deleted, and the owners of its "+
					"finalizers %q have to remove them)", name, child.Finalizers))
			}
		}
	}
	return text.JoinFirst(status.MaxListed, append(leaving, staying...))
}

// longestLeaving returns the child that has been being deleted for the longest time; nil if none is,
// or if the children are left to the host.
func longestLeaving(snapshot *pipeline.Snapshot) (longest *object.Object) {
	if !snapshot.Managed {
		return nil
	}
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp != nil && (longest == nil || child.DeletionTimestamp.Before(longest.DeletionTimestamp)) {
				longest = child
			}
		}
	}
	return longest
}

// Leaving is the end of a controller whose object is being deleted, or whose next spec does not finalize the same
// parents: then the caller only waits for the last calls. Tools delete a controller, its parents and its hook within
// milliseconds and in any order. So the controller still finalizes the parents that are deleted with it, and leaves the
// others alone. The caller decides for how long (Begin), and then waits for the last calls (End).
type Leaving struct {
	spec     *Spec
	observer *observe.Observer
	parents  *parentStates
	queue    *syncqueue.Queue
	tracker  *status.Tracker
	isFilled func() bool
	// isTypeBeingDeleted reports whether a resource comes from a CustomResourceDefinition that is being deleted.
	isTypeBeingDeleted func(schema.GroupResource) bool

	// begun is true from the first Begin on, and ended from End to Resume.
	begun, ended atomic.Bool
	// syncs counts the syncs under way.
	syncs atomic.Int64
	// answered is LeftToDo.Answered in nanoseconds since 1970.
	answered atomic.Int64
	// enqueued is the time at which Begin last enqueued the parents. One worker at a time calls Begin.
	enqueued time.Time
}

// callInterval is the interval at which the finalize hook of a controller that is being deleted is called while it is
// silent. The next sync of a parent may be minutes away: after a failure, or because the hook waits for a child.
const callInterval = 10 * time.Second

// LeftToDo is the work of a controller before it ends.
type LeftToDo struct {
	// IsBusy is true while syncs are under way, or the caches do not show yet which parents have the finalizer.
	IsBusy bool
	// Finalizing counts the parents for which the finalize hook must be called. Failure is the error of the first of
	// them, by name, whose last sync failed; nil if none failed.
	Finalizing int
	Failure    *report.ParentError
	// Staying counts the other parents with the finalizer. For ToBeDeleted of them, the hook must be called once the
	// cluster has deleted them, because their CustomResourceDefinition is being deleted.
	Staying, ToBeDeleted int
	// Answered is the time of the last answer of a hook. It is the time of the last Begin that left the hook nothing to
	// do, or else of the first Begin, if no answer came since then.
	Answered time.Time
}

// Begin makes the controller sync only the parents for which it must call the finalize hook: parents that are being
// deleted or no longer selected, and not paused. It returns the work that is left.
func (l *Leaving) Begin() LeftToDo {
	now := time.Now()
	if l.begun.CompareAndSwap(false, true) {
		l.answered.Store(now.UnixNano())
	}
	answered := time.Unix(0, l.answered.Load())
	calls := l.callsAgain(now, answered)
	if calls {
		l.enqueued = now
	}
	// In this order: a parent gets the finalizer in a sync, then the write is pending, and then the caches show it.
	left := LeftToDo{IsBusy: l.syncs.Load() > 0 || !l.isFilled() || !l.parents.areIdle(), Answered: answered}
	for _, parent := range l.observer.Parents() {
		if !slices.Contains(parent.Finalizers, l.observer.Finalizer) {
			continue
		}
		snapshot := l.observer.ParentAs(parent)
		if !l.finalizes(snapshot) {
			left.Staying++
			if l.willFinalize(snapshot) {
				left.ToBeDeleted++
			}
			continue
		}
		key := object.KeyOf(parent)
		if calls {
			l.queue.Enqueue(syncqueue.Retry, key)
		}
		left.Finalizing++
		failure := l.tracker.Of(key).Failure
		if failure != nil && (left.Failure == nil || failure.Parent.String() < left.Failure.Parent.String()) {
			left.Failure = failure
		}
	}
	if !left.IsBusy && left.Finalizing == 0 {
		left.Answered = now
		l.answered.Store(now.UnixNano())
	}
	return left
}

// callsAgain reports whether the parents are enqueued: at first, and whenever the hook has been silent for long.
func (l *Leaving) callsAgain(now, answered time.Time) bool {
	return l.enqueued.IsZero() || now.Sub(l.enqueued) >= callInterval && now.Sub(answered) >= callInterval
}

// finalizes reports whether the finalize hook must be called for a parent before its finalizer is removed.
func (l *Leaving) finalizes(snapshot *pipeline.Snapshot) bool {
	return snapshot.Finalizing && snapshot.NeedsFinalizer && !l.spec.pauses(snapshot.Parent)
}

// willFinalize reports whether the hook must be called for a parent once the cluster has deleted it with its definition.
func (l *Leaving) willFinalize(snapshot *pipeline.Snapshot) bool {
	return snapshot.Parent.DeletionTimestamp == nil && snapshot.NeedsFinalizer && !l.spec.pauses(snapshot.Parent) &&
		l.isTypeBeingDeleted(snapshot.ParentType.GroupResource())
}

// leavesAlone reports whether this parent is not synced any longer.
func (l *Leaving) leavesAlone(parent object.Key) bool {
	if !l.begun.Load() {
		return false
	}
	snapshot := l.observer.Parent(parent)
	return snapshot != nil && !l.finalizes(snapshot)
}

// hookAnswered records that a hook has answered.
func (l *Leaving) hookAnswered() {
	if l.begun.Load() {
		l.answered.Store(time.Now().UnixNano())
	}
}

// End makes no further sync begin, and reports whether the last one has ended. A call of a hook ends at its timeout at
// the latest.
func (l *Leaving) End() bool {
	l.ended.Store(true)
	return l.syncs.Load() == 0
}

// Resume lets syncs begin again after End, because a call that was under way was answered, or the controller stays.
func (l *Leaving) Resume() { l.ended.Store(false) }
