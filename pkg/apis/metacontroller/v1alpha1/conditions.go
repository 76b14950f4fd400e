// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of the conditions in the status of a CompositeController or DecoratorController.
const (
	// ConditionReady is True while the controller runs with its current spec and syncs parents. It is Unknown until the
	// controller has tried to sync one, and False if it cannot run, or if the sync of every parent fails.
	ConditionReady = "Ready"
	// ConditionParentsSynced is True if every parent was in its desired state after its last sync.
	ConditionParentsSynced = "ParentsSynced"
	// ConditionHooksReachable is True if the hooks answered their last calls.
	ConditionHooksReachable = "HooksReachable"
	// ConditionWarnings is True if the controller runs, but probably not as its author intends.
	ConditionWarnings = "Warnings"
	// ConditionPaused is present, and True, while the controller or some of its parents are paused.
	ConditionPaused = "Paused"
	// ConditionStalled is present, and True, while Ready is False and only a change of the spec or of another object
	// can end that. Tools that use kstatus report it as a failure. It repeats the reason and message of Ready. Failing
	// Syncs and failed HookCalls have it, too.
	ConditionStalled = "Stalled"
)

// Reasons of the condition Ready.
const (
	ReasonNotObservedYet     = "NotObservedYet"
	ReasonNotSyncedYet       = "NotSyncedYet"
	ReasonRunning            = "Running"
	ReasonInvalidSpec        = "InvalidSpec"
	ReasonUnknownType        = "UnknownType"
	ReasonNoStatus           = "NoStatusSubresource"
	ReasonCredentials        = "CredentialsMissing"
	ReasonForbidden          = "Forbidden"
	ReasonWatchFailed        = "WatchFailed"
	ReasonTypesNotListed     = "TypesNotListed"
	ReasonClusterUnreachable = "ClusterUnreachable"
	ReasonHookDown           = "HookDown"
	ReasonAllParentsFailing  = "AllParentsFailing"
	ReasonDeleting           = "Deleting"
	// ReasonHeld means that the APIService holds all controllers, or does not lead to this server. Nothing runs for the
	// controller, and its parents and children are left alone.
	ReasonHeld = "Held"
	// ReasonNotSelected means that the server does not select the controller. Nothing runs for it, as with ReasonHeld.
	ReasonNotSelected = "NotSelected"
)

// Reasons of the conditions ParentsSynced and HooksReachable.
const (
	ReasonAllSynced        = "AllSynced"
	ReasonNoParents        = "NoParents"
	ReasonNotAllSynced     = "NotAllSyncedYet"
	ReasonParentsFailing   = "ParentsFailing"
	ReasonNotRunning       = "NotRunning"
	ReasonAnswered         = "Answered"
	ReasonNotCalled        = "NotCalledYet"
	ReasonCallFailed       = "CallFailed"
	ReasonCredentialsStale = "CredentialsStale"
)

// Reasons of the conditions Warnings and Paused.
const (
	ReasonNoWarnings = "NoWarnings"
	// ReasonWriteLoop: the server writes children or the status of parents again and again, because another client
	// undoes the writes or because the hook returns a different answer each time. The server throttles such writes.
	ReasonWriteLoop = "WriteLoop"
	// ReasonSchemaMismatch: an inline hook does not fit the schemas of the cluster.
	ReasonSchemaMismatch = "SchemaMismatch"
	// ReasonActsAsServer: the server requires a service account of new controllers, and this one has none.
	ReasonActsAsServer = "ActsAsServer"

	ReasonPaused        = "Paused"
	ReasonParentsPaused = "ParentsPaused"
)

// Reasons of the condition Warnings about one parent. They are also the reasons of events about it.
const (
	// ReasonUnknownField: the cluster does not know a field of a child or of the parent. It drops the field, or
	// refuses the child.
	ReasonUnknownField = "UnknownField"
	// ReasonUnknownAnswerField: an answer has a field that is not in the protocol, so the server ignores it.
	ReasonUnknownAnswerField = "UnknownAnswerField"
	// ReasonChildrenDeleted: the server deletes all children, because the answer has no field for them.
	ReasonChildrenDeleted = "ChildrenDeleted"
	// ReasonChildOutdated: children differ from what the hook wants, and their update method leaves them alone.
	ReasonChildOutdated = "ChildOutdated"
	// ReasonChildKept: a parent controls objects that its controller did not create and its hook has never listed.
	ReasonChildKept = "ChildKept"
	// ReasonRolloutWaiting: a rollout has waited for the same child for a long time.
	ReasonRolloutWaiting = "RolloutWaiting"
	// ReasonDuplicateChild: an answer lists a child more than once, and the last one counts.
	ReasonDuplicateChild = "DuplicateChild"
	// ReasonOwnerIgnored: an answer lists an owner that cannot own the child, or denies that the parent controls the
	// child.
	ReasonOwnerIgnored = "OwnerIgnored"
	// ReasonRelatedNotShown: the customize hook asks for objects that another hook does not see because of its version.
	ReasonRelatedNotShown = "RelatedNotShown"
	// ReasonClusterWarning: the cluster has accepted a write with a warning.
	ReasonClusterWarning = "ClusterWarning"
	// ReasonRevisionIgnored: the server ignores a ControllerRevision, or a part of one.
	ReasonRevisionIgnored = "RevisionIgnored"
)

// conditionReason is a reason that a condition of a controller can have.
type conditionReason struct {
	condition, reason string
	// status is the status that the condition has with this reason.
	status metav1.ConditionStatus
	// stalls is true if only a change of the spec, or of another object, can change it.
	stalls bool
}

// conditionReasons has all reasons of the conditions of controllers, the most severe one first. The ones after
// Running say that nothing is wrong, or what Ready says better.
var conditionReasons = []conditionReason{
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonInvalidSpec, stalls: true},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonUnknownType, stalls: true},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonNoStatus, stalls: true},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonCredentials, stalls: true},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonForbidden, stalls: true},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonWatchFailed},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonTypesNotListed},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonClusterUnreachable},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonHookDown},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonHeld},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonNotSelected},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonDeleting},
	{condition: ConditionHooksReachable, status: metav1.ConditionFalse, reason: ReasonCallFailed},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonWriteLoop},
	{condition: ConditionReady, status: metav1.ConditionFalse, reason: ReasonAllParentsFailing},
	{condition: ConditionParentsSynced, status: metav1.ConditionFalse, reason: ReasonParentsFailing},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonChildrenDeleted},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonRolloutWaiting},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonChildKept},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonChildOutdated},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonDuplicateChild},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonOwnerIgnored},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonRelatedNotShown},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonClusterWarning},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonRevisionIgnored},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonUnknownAnswerField},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonUnknownField},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonSchemaMismatch},
	{condition: ConditionWarnings, status: metav1.ConditionTrue, reason: ReasonActsAsServer},
	{condition: ConditionPaused, status: metav1.ConditionTrue, reason: ReasonPaused},
	{condition: ConditionPaused, status: metav1.ConditionTrue, reason: ReasonParentsPaused},
	{condition: ConditionReady, status: metav1.ConditionUnknown, reason: ReasonNotObservedYet},
	{condition: ConditionReady, status: metav1.ConditionUnknown, reason: ReasonNotSyncedYet},
	{condition: ConditionReady, status: metav1.ConditionTrue, reason: ReasonRunning},
	{condition: ConditionHooksReachable, status: metav1.ConditionTrue, reason: ReasonCredentialsStale},
	{condition: ConditionHooksReachable, status: metav1.ConditionUnknown, reason: ReasonNotCalled},
	{condition: ConditionHooksReachable, status: metav1.ConditionTrue, reason: ReasonAnswered},
	{condition: ConditionParentsSynced, status: metav1.ConditionUnknown, reason: ReasonNotRunning},
	{condition: ConditionParentsSynced, status: metav1.ConditionUnknown, reason: ReasonPaused},
	{condition: ConditionParentsSynced, status: metav1.ConditionUnknown, reason: ReasonNotAllSynced},
	{condition: ConditionParentsSynced, status: metav1.ConditionTrue, reason: ReasonNoParents},
	{condition: ConditionParentsSynced, status: metav1.ConditionTrue, reason: ReasonAllSynced},
	{condition: ConditionWarnings, status: metav1.ConditionUnknown, reason: ReasonNotRunning},
	{condition: ConditionWarnings, status: metav1.ConditionFalse, reason: ReasonNoWarnings},
}

// formerConditions are the types of conditions that earlier versions of the server stored.
var formerConditions = []string{"ResourcesFound", "FieldsKnown", "ChildrenAsMeant", "Stable", "ServiceAccountSet"}

// NewStatus returns the status of a new controller, which no server has read yet. Without this status, tools that wait
// would consider the controller ready.
func NewStatus() ControllerStatus {
	unread := NewCondition(ConditionReady, ReasonNotObservedYet, "the leader of the servers has not read this controller yet",
		0)
	unread.LastTransitionTime = metav1.Now()
	return ControllerStatus{Conditions: []metav1.Condition{unread}}
}

// NewCondition returns a condition of a controller. Its status follows from its reason.
func NewCondition(condition, reason, message string, generation int64) metav1.Condition {
	made := metav1.Condition{
		Type: condition, Status: metav1.ConditionUnknown, Reason: reason, Message: message, ObservedGeneration: generation,
	}
	if of := find(condition, reason); of >= 0 {
		made.Status = conditionReasons[of].status
	}
	return made
}

// Stalls reports whether only a change of the spec or of another object can end Ready=False with this reason.
func Stalls(reason string) bool {
	of := find(ConditionReady, reason)
	return of >= 0 && conditionReasons[of].stalls
}

// Runs reports whether a controller whose condition Ready has this reason runs as its spec says.
func Runs(reason string) bool {
	return reason == ReasonRunning || reason == ReasonNotSyncedYet || reason == ReasonAllParentsFailing
}

// IsProblem reports whether the status of a condition of a controller indicates a problem. A pause is not a problem,
// and Stalled only repeats one.
func IsProblem(condition metav1.Condition) bool {
	switch condition.Type {
	case ConditionPaused, ConditionStalled:
		return false
	case ConditionWarnings:
		return condition.Status != metav1.ConditionFalse
	}
	return condition.Status != metav1.ConditionTrue
}

// WorstReason returns the most severe of the reasons of conditions of a controller. If none is known, it returns that
// of Ready, or nothing.
func WorstReason(conditions []metav1.Condition) string {
	worst, reason := len(conditionReasons), ""
	for _, condition := range conditions {
		if of := find(condition.Type, condition.Reason); of >= 0 && of < worst {
			worst, reason = of, condition.Reason
		} else if condition.Type == ConditionReady && reason == "" {
			reason = condition.Reason
		}
	}
	return reason
}

// CompareWarnings orders reasons of the condition Warnings, more severe ones first.
func CompareWarnings(a, b string) int {
	return cmp.Compare(find(ConditionWarnings, a), find(ConditionWarnings, b))
}

// WithoutFormer returns the conditions without those that only earlier versions of the server stored.
func WithoutFormer(conditions []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(conditions, func(condition metav1.Condition) bool {
		return slices.Contains(formerConditions, condition.Type)
	})
}

// find returns the index of a reason of a condition in conditionReasons, or -1.
func find(condition, reason string) int {
	return slices.IndexFunc(conditionReasons, func(of conditionReason) bool {
		return of.condition == condition && of.reason == reason
	})
}
