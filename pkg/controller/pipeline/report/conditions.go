// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Reasons of the conditions of a controller.
const (
	ReasonRunning            = "Running"
	ReasonInvalidSpec        = "InvalidSpec"
	ReasonUnknownType        = "UnknownType"
	ReasonCredentials        = "CredentialsMissing"
	ReasonNoStatus           = "NoStatusSubresource"
	ReasonClusterUnreachable = "ClusterUnreachable"
	ReasonForbidden          = "Forbidden"
	ReasonDeleting           = "Deleting"
	ReasonFound              = "Found"
	ReasonAnswered           = "Answered"
	ReasonNotCalled          = "NotCalledYet"
	ReasonCallFailed         = "CallFailed"
	ReasonNotRunning         = "NotRunning"
	ReasonQuiet              = "Quiet"
	ReasonWriteLoop          = "WriteLoop"
	ReasonCredentialsStale   = "CredentialsStale"
	ReasonHookDown           = "HookDown"
	ReasonNotSelected        = v1alpha1.ReasonNotSelected
	ReasonHeld               = v1alpha1.ReasonHeld
	ReasonWatchFailed        = "WatchFailed"
	ReasonTypesNotListed     = "TypesNotListed"
	ReasonAllSynced          = "AllSynced"
	ReasonNoParents          = "NoParents"
	ReasonNotAllSynced       = "NotAllSyncedYet"
	ReasonParentsFailing     = "ParentsFailing"
	ReasonFieldsKept         = "AllKept"
	ReasonNoneWarned         = "NoneWarned"
	ReasonActsAsServer       = "ActsAsServer"
	ReasonPaused             = "Paused"
	ReasonParentsPaused      = "ParentsPaused"
)

// Status returns the status of a controller object of that generation. before is its present
// status. health is nil if the controller does not run; problem is nil if it runs as its spec says.
func Status(
	before v1alpha1.ControllerStatus, generation int64, health *Health, problem *Problem,
) v1alpha1.ControllerStatus {
	after := *before.DeepCopy()
	after.ObservedGeneration, after.RunningGeneration = generation, problem.runningGeneration()
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&after.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
		})
	}
	setReady(set, problem)
	setResourcesFound(set, problem)
	said := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionHooksReachable)
	if !health.keepsHooksReachable(said, generation) {
		setHooksReachable(set, health)
	}
	setParentsSynced(set, health)
	setWarnings(set, health)
	if health != nil && (health.AllPaused || health.Paused > 0) {
		setPaused(set, health)
	} else {
		meta.RemoveStatusCondition(&after.Conditions, v1alpha1.ConditionPaused)
	}
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

type setCondition func(kind string, status metav1.ConditionStatus, reason, message string)

func setReady(set setCondition, problem *Problem) {
	switch {
	case problem == nil:
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, ReasonRunning, "the controller runs as its spec says")
	case problem.RunningGeneration != 0:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, problem.Reason, problem.message()+" (the controller still "+
			"runs as its last working spec said)")
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, problem.Reason, problem.message())
	}
}

func setResourcesFound(set setCondition, problem *Problem) {
	switch {
	case problem == nil || problem.Reason == ReasonForbidden || problem.Reason == ReasonCredentials || problem.Reason == ReasonHookDown: // the types come before these
		set(v1alpha1.ConditionResourcesFound, metav1.ConditionTrue, ReasonFound, "the cluster serves all types of the spec")
	case problem.Reason == ReasonUnknownType || problem.Reason == ReasonNoStatus || problem.Reason == ReasonWatchFailed:
		set(v1alpha1.ConditionResourcesFound, metav1.ConditionFalse, problem.Reason, inCondition(problem.Err))
	default:
		set(v1alpha1.ConditionResourcesFound, metav1.ConditionUnknown, problem.Reason, inCondition(problem.Err))
	}
}

// keepsHooksReachable reports whether the condition HooksReachable stays as it is. It does if it is
// about this generation and no hook has been called since the process started: the condition then
// says more. One that names a parent that is gone does not stay.
func (h *Health) keepsHooksReachable(said *metav1.Condition, generation int64) bool {
	if h == nil || h.HookCalled || said == nil || said.ObservedGeneration != generation {
		return false
	}
	return said.Status != metav1.ConditionFalse || h.Uncounted || h.Total > 0
}

func setHooksReachable(set setCondition, health *Health) {
	switch {
	case health == nil || !health.HookCalled:
		set(v1alpha1.ConditionHooksReachable, metav1.ConditionUnknown, ReasonNotCalled, "no hook has been called yet")
	case health.HookErr != nil && health.StaleCredentials != nil:
		set(v1alpha1.ConditionHooksReachable, metav1.ConditionFalse, ReasonCallFailed,
			inCondition(health.HookErr)+"; the credentials in use are the last good ones: "+inCondition(health.StaleCredentials))
	case health.HookErr != nil:
		set(v1alpha1.ConditionHooksReachable, metav1.ConditionFalse, ReasonCallFailed, inCondition(health.HookErr))
	case health.StaleCredentials != nil:
		set(v1alpha1.ConditionHooksReachable, metav1.ConditionTrue, ReasonCredentialsStale,
			"the last call of a hook was answered, but the credentials in use are the last good ones: "+
				inCondition(health.StaleCredentials))
	default:
		set(v1alpha1.ConditionHooksReachable, metav1.ConditionTrue, ReasonAnswered, "the last call of a hook was answered")
	}
}

func setParentsSynced(set setCondition, health *Health) {
	switch {
	case health == nil:
		set(v1alpha1.ConditionParentsSynced, metav1.ConditionUnknown, ReasonNotRunning, "no controller runs")
	case health.Failing > 0:
		set(v1alpha1.ConditionParentsSynced, metav1.ConditionFalse, ReasonParentsFailing, health.message(failureOf(health)))
	case health.Total == 0 && !health.Uncounted:
		set(v1alpha1.ConditionParentsSynced, metav1.ConditionTrue, ReasonNoParents, "there is no parent: no object of the "+
			"type exists, or none that the controller selects")
	case health.Paused > 0 && health.Synced+health.Paused >= health.Total:
		set(v1alpha1.ConditionParentsSynced, metav1.ConditionUnknown, ReasonPaused,
			fmt.Sprintf("%d of %d parents are paused", health.Paused, health.Total))
	case health.Uncounted || health.Synced < health.Total:
		set(v1alpha1.ConditionParentsSynced, metav1.ConditionUnknown, ReasonNotAllSynced,
			"some parents have not been synced yet")
	default:
		set(v1alpha1.ConditionParentsSynced, metav1.ConditionTrue, ReasonAllSynced, "every parent is as its hook wants")
	}
}

// setPaused says which parents are paused, and how that ends.
func setPaused(set setCondition, health *Health) {
	if health.AllPaused {
		set(v1alpha1.ConditionPaused, metav1.ConditionTrue, ReasonPaused, "spec.paused is true: no hook is called, and "+
			"nothing is written")
		return
	}
	more := ""
	if health.Paused > 1 {
		more = fmt.Sprintf(" (and %d more)", health.Paused-1)
	}
	set(v1alpha1.ConditionPaused, metav1.ConditionTrue, ReasonParentsPaused, fmt.Sprintf(
		"%s%s: the annotation %s is \"true\", so no hook is called about it, and nothing is written", health.PausedParent,
		more, v1alpha1.PausedAnnotation))
}

// failureOf says why one parent fails, and how many others do.
func failureOf(health *Health) string {
	first := health.Failure
	switch {
	case first == nil:
		return fmt.Sprintf("%d of %d parents are not as their hook wants", health.Failing, health.Total)
	case health.Failing > 1:
		return fmt.Sprintf("%s (and %d more of %d parents)", about(first.Parent, first.Message), health.Failing-1,
			health.Total)
	case health.Total > 1:
		return fmt.Sprintf("%s (1 of %d parents)", about(first.Parent, first.Message), health.Total)
	default:
		return about(first.Parent, first.Message)
	}
}

// setWarnings sets the conditions that are False while there is a warning.
func setWarnings(set setCondition, health *Health) {
	if health == nil {
		for _, condition := range []string{
			v1alpha1.ConditionFieldsKnown, v1alpha1.ConditionChildrenAsMeant, v1alpha1.ConditionStable,
		} {
			set(condition, metav1.ConditionUnknown, ReasonNotRunning, "no controller runs")
		}
		return
	}
	setUnlessWarned := func(condition string, warning *ParentWarning, reason, message string) {
		if warning != nil {
			set(condition, metav1.ConditionFalse, string(warning.Reason), warning.String())
			return
		}
		set(condition, metav1.ConditionTrue, reason, message)
	}
	setUnlessWarned(v1alpha1.ConditionFieldsKnown, health.FieldWarning, ReasonFieldsKept, "no field that a hook answers is dropped")
	setUnlessWarned(v1alpha1.ConditionChildrenAsMeant, health.ChildWarning, ReasonNoneWarned, "there is no warning about children")
	if len(health.WriteLoops) > 0 {
		set(v1alpha1.ConditionStable, metav1.ConditionFalse, ReasonWriteLoop, writeLoopSummary(health.WriteLoops))
	} else {
		set(v1alpha1.ConditionStable, metav1.ConditionTrue, ReasonQuiet, "nothing is written again and again")
	}
}

// ReadyIsUpToDate reports whether a status is of that generation and its condition Ready is the one
// that Status would set. It is called often, so it writes no rules: the problem has their text.
func ReadyIsUpToDate(status *v1alpha1.ControllerStatus, generation int64, problem *Problem) bool {
	said := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if said == nil || status.ObservedGeneration != generation || status.RunningGeneration != problem.runningGeneration() {
		return false
	}
	same := false
	setReady(func(_ string, status metav1.ConditionStatus, reason, message string) {
		same = said.Status == status && said.Reason == reason
		switch reason {
		case ReasonHookDown, ReasonWatchFailed, ReasonClusterUnreachable:
			// The text of connection errors differs each time, because it has port numbers.
		default:
			same = same && said.Message == message
		}
	}, problem)
	return same
}

// SetServiceAccountCondition sets the condition that the controller has no service account although the
// server requires one of new controllers, or removes the condition.
func SetServiceAccountCondition(status *v1alpha1.ControllerStatus, lacks bool) {
	if !lacks {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionServiceAccountSet)
		return
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionServiceAccountSet, Status: metav1.ConditionFalse, Reason: ReasonActsAsServer,
		ObservedGeneration: status.ObservedGeneration,
		Message: "the controller acts as the server and needs the server's rights to write; new controllers are refused " +
			"without " +
			"spec.serviceAccount (--require-service-account), and so is the next change of this spec: set spec.serviceAccount",
	})
}
