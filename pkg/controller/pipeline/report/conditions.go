// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// stalledDelay is the time for which Ready is False before the controller counts as stalled. Objects that were created
// together with the controller, such as a CustomResourceDefinition or a Role, may take effect in that time.
const stalledDelay = 2 * time.Second

// Status returns the status of a controller object of that generation. before is its present status. health is nil if
// the controller does not run; problem is nil if it runs with its current spec.
func Status(
	before v1alpha1.ControllerStatus, generation int64, health *Health, problem *Problem,
) v1alpha1.ControllerStatus {
	after := *before.DeepCopy()
	after.ObservedGeneration, after.RunningGeneration = generation, problem.runningGeneration()
	after.Conditions = v1alpha1.WithoutFormer(after.Conditions)
	set := func(kind, reason, message string) {
		meta.SetStatusCondition(&after.Conditions, v1alpha1.NewCondition(kind, reason, message, generation))
	}
	ready := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionReady)
	if problem != nil || !health.keepsReady(ready, generation) {
		setReady(set, health, problem)
	}
	setParentsSynced(set, health)
	said := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionHooksReachable)
	if !health.keepsHooksReachable(said, generation) {
		setHooksReachable(set, health)
	}
	setWarnings(set, health)
	if health != nil && (health.AllPaused || health.Paused > 0) {
		setPaused(set, health)
	} else {
		meta.RemoveStatusCondition(&after.Conditions, v1alpha1.ConditionPaused)
	}
	setStalled(&after, problem)
	if health == nil {
		after.Parents, after.Children = nil, nil
		return after
	}
	if health.Uncounted {
		after.Parents, after.Children = nil, nil
	} else {
		after.Parents = &v1alpha1.ParentCounts{
			Total: int32(health.Total), Synced: int32(health.Synced), Failing: int32(health.Failing),
			Warned: int32(health.Warned),
			Paused: int32(health.Paused),
		}
		after.Children = &v1alpha1.ChildCounts{Outdated: int32(health.Outdated)}
	}
	if last := health.LastError; last != nil {
		after.LastError = &v1alpha1.LastSyncError{
			Message: health.message(last.Message), Parent: last.Parent.Path(), Kind: last.Parent.Kind,
			Time: metav1.NewTime(last.Time.Truncate(time.Second)),
		}
		if !last.Recovered.IsZero() {
			after.LastError.Recovered = ptr.To(metav1.NewTime(last.Recovered.Truncate(time.Second)))
		}
	}
	return after
}

// setCondition sets a condition. Its status follows from its reason.
type setCondition func(kind, reason, message string)

func setReady(set setCondition, health *Health, problem *Problem) {
	switch {
	case problem != nil && problem.RunningGeneration != 0:
		set(v1alpha1.ConditionReady, problem.Reason,
			problem.message()+" (the controller still runs with its last working spec)")
	case problem != nil:
		set(v1alpha1.ConditionReady, problem.Reason, problem.message())
	case health.failsWholly():
		set(v1alpha1.ConditionReady, v1alpha1.ReasonAllParentsFailing, health.message("no parent is in its desired state: "+
			failureOf(health)))
	case health.IsUntried():
		set(v1alpha1.ConditionReady, v1alpha1.ReasonNotSyncedYet, "the controller runs, and has not synced a parent yet")
	default:
		set(v1alpha1.ConditionReady, v1alpha1.ReasonRunning, "the controller runs with its current spec")
	}
}

// keepsReady reports whether the condition Ready stays as it is. It does if the controller ran with this generation
// before this process started, and no parent has been synced since then.
func (h *Health) keepsReady(said *metav1.Condition, generation int64) bool {
	return said != nil && said.ObservedGeneration == generation && h.IsUntried() &&
		(said.Reason == v1alpha1.ReasonRunning || said.Reason == v1alpha1.ReasonAllParentsFailing)
}

// setStalled makes the condition Stalled repeat Ready while only a change of the spec or of another object helps.
func setStalled(status *v1alpha1.ControllerStatus, problem *Problem) {
	if !problem.isStalled() {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
		return
	}
	stalled := *meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	stalled.Type, stalled.Status = v1alpha1.ConditionStalled, metav1.ConditionTrue
	meta.SetStatusCondition(&status.Conditions, stalled)
}

// keepsHooksReachable reports whether the condition HooksReachable stays as it is. It does if it is about this
// generation and no hook has been called since the process started: the condition then says more. A condition that
// names a parent that no longer exists does not stay.
func (h *Health) keepsHooksReachable(said *metav1.Condition, generation int64) bool {
	if h == nil || h.HookCalled || said == nil || said.ObservedGeneration != generation {
		return false
	}
	return said.Status != metav1.ConditionFalse || h.IsUntried()
}

func setHooksReachable(set setCondition, health *Health) {
	if health == nil || !health.HookCalled {
		set(v1alpha1.ConditionHooksReachable, v1alpha1.ReasonNotCalled, "the server has not called a hook yet")
		return
	}
	failure, stale := text.Shorten(health.HookError, MaxMessage), text.Shorten(health.StaleCredentials, MaxMessage)
	switch {
	case failure != "" && stale != "":
		set(v1alpha1.ConditionHooksReachable, v1alpha1.ReasonCallFailed,
			failure+"; the server still uses the last valid credentials: "+stale)
	case failure != "":
		set(v1alpha1.ConditionHooksReachable, v1alpha1.ReasonCallFailed, failure)
	case stale != "":
		set(v1alpha1.ConditionHooksReachable, v1alpha1.ReasonCredentialsStale,
			"the hooks answered their last calls, but the server still uses the last valid credentials: "+stale)
	default:
		set(v1alpha1.ConditionHooksReachable, v1alpha1.ReasonAnswered, "the hooks answered their last calls")
	}
}

func setParentsSynced(set setCondition, health *Health) {
	switch {
	case health == nil:
		set(v1alpha1.ConditionParentsSynced, v1alpha1.ReasonNotRunning, "no controller runs")
	case health.Failing > 0:
		set(v1alpha1.ConditionParentsSynced, v1alpha1.ReasonParentsFailing, health.message(failureOf(health)))
	case health.Total == 0 && !health.Uncounted:
		set(v1alpha1.ConditionParentsSynced, v1alpha1.ReasonNoParents, "the controller has no parents: no object of the "+
			"type exists, or the controller selects none")
	case health.Paused > 0 && health.Synced+health.Paused >= health.Total:
		set(v1alpha1.ConditionParentsSynced, v1alpha1.ReasonPaused,
			fmt.Sprintf("%d of %d parents are paused", health.Paused, health.Total))
	case health.Uncounted || health.Synced < health.Total:
		set(v1alpha1.ConditionParentsSynced, v1alpha1.ReasonNotAllSynced,
			"some parents have not been synced yet")
	default:
		set(v1alpha1.ConditionParentsSynced, v1alpha1.ReasonAllSynced, "every parent is in its desired state")
	}
}

// setPaused sets the condition Paused: which parents are paused, and how to resume them.
func setPaused(set setCondition, health *Health) {
	if health.AllPaused {
		set(v1alpha1.ConditionPaused, v1alpha1.ReasonPaused,
			"spec.paused is true: the server calls no hook and writes nothing")
		return
	}
	more := ""
	if health.Paused > 1 {
		more = fmt.Sprintf(" (and %d more)", health.Paused-1)
	}
	set(v1alpha1.ConditionPaused, v1alpha1.ReasonParentsPaused, fmt.Sprintf(
		"%s%s: the annotation %s is \"true\", so the server calls no hook for it, and writes nothing", health.PausedParent,
		more, v1alpha1.PausedAnnotation))
}

// failureOf returns why one parent fails, and how many others fail.
func failureOf(health *Health) string {
	first := health.Failure
	switch {
	case first == nil:
		return fmt.Sprintf("%d of %d parents are not in their desired state", health.Failing, health.Total)
	case health.Failing > 1:
		return fmt.Sprintf("%s (and %d more of %d parents)", about(first.Parent, first.Message), health.Failing-1,
			health.Total)
	case health.Total > 1:
		return fmt.Sprintf("%s (1 of %d parents)", about(first.Parent, first.Message), health.Total)
	default:
		return about(first.Parent, first.Message)
	}
}

// setWarnings sets the condition Warnings. Its reason is the most severe one, and its message has all of them.
func setWarnings(set setCondition, health *Health) {
	if health == nil {
		set(v1alpha1.ConditionWarnings, v1alpha1.ReasonNotRunning, "no controller runs")
		return
	}
	var reasons, messages []string
	add := func(reason, message string) { reasons, messages = append(reasons, reason), append(messages, message) }
	if health.WriteLoops > 0 {
		add(v1alpha1.ReasonWriteLoop, health.WriteLoopSummary)
	}
	if warning := health.Warning; warning.Reason != "" {
		add(string(warning.Reason), warning.String())
	}
	if health.Mismatch != "" {
		add(v1alpha1.ReasonSchemaMismatch, text.Shorten(health.Mismatch, MaxMessage))
	}
	if health.LacksAccount {
		add(v1alpha1.ReasonActsAsServer, "the controller acts as the server, and writes with the rights of the server; "+
			"the server requires a service account (--require-service-account), and rejects the next change of this spec "+
			"without one: set spec.serviceAccount")
	}
	if len(reasons) == 0 {
		set(v1alpha1.ConditionWarnings, v1alpha1.ReasonNoWarnings, "no warnings")
		return
	}
	set(v1alpha1.ConditionWarnings, slices.MinFunc(reasons, v1alpha1.CompareWarnings), strings.Join(messages, "; "))
}

// ReadyIsUpToDate reports whether a status is of that generation, and its conditions Ready and Stalled are the ones
// that Status would set for that problem. It is called often, so it writes no rules: the problem has their text. It
// does not compare conditions that depend on the health.
func ReadyIsUpToDate(status *v1alpha1.ControllerStatus, generation int64, problem *Problem) bool {
	said := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if said == nil || status.ObservedGeneration != generation || status.RunningGeneration != problem.runningGeneration() ||
		meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) != problem.isStalled() {
		return false
	}
	if problem == nil {
		return v1alpha1.Runs(said.Reason)
	}
	same := false
	setReady(func(_, reason, message string) {
		same = said.Reason == reason
		switch reason {
		case v1alpha1.ReasonHookDown, v1alpha1.ReasonWatchFailed, v1alpha1.ReasonClusterUnreachable:
			// The text of connection errors differs each time, because it has port numbers.
		default:
			same = same && said.Message == message
		}
	}, nil, problem)
	return same
}
