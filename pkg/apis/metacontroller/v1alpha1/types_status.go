// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControllerStatus is the last observed state of the running controller of a CompositeController or
// DecoratorController. The server updates it at most once a second.
type ControllerStatus struct {
	// observedGeneration is the metadata.generation that this status is about. If it is lower than the current one, the
	// server has not observed the last change of the spec yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// runningGeneration is the metadata.generation of an earlier spec that the controller still runs with, because it
	// cannot use the current one; the condition Ready says why. Absent otherwise.
	// +optional
	RunningGeneration int64 `json:"runningGeneration,omitempty"`

	// conditions have these types. Ready: the controller runs with its current spec and syncs parents. ParentsSynced:
	// every parent is in its desired state. HooksReachable: the hooks answered their last calls. Warnings: the
	// controller runs, but probably not as its author intends. Paused, present only when True: the controller or some
	// of its parents are paused. Stalled, present only when True: Ready is False, and only a change of the spec or of
	// another object can end that.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// parents counts the parents of a CompositeController, or the targets of a DecoratorController. Absent until the
	// server has counted them.
	// +optional
	Parents *ParentCounts `json:"parents,omitempty"`

	// children counts children that differ from what the hook wants although no sync failed. Absent until the server
	// has counted them.
	// +optional
	Children *ChildCounts `json:"children,omitempty"`

	// lastError is the most recent failure to sync a parent. It stays after the parent has recovered.
	// +optional
	LastError *LastSyncError `json:"lastError,omitempty"`

	// heldResources are the types whose objects may have the finalizer of this controller. The server removes the
	// finalizer when you delete the controller, remove the finalize hook, or change the parent type.
	// +listType=atomic
	// +optional
	HeldResources []ResourceRule `json:"heldResources,omitempty"`
}

// ParentCounts counts parents by how their last sync went.
type ParentCounts struct {
	// total is the number of parents.
	Total int32 `json:"total"`

	// synced is the number of parents that were in their desired state after their last sync.
	Synced int32 `json:"synced"`

	// failing is the number of parents that are not in their desired state: their last sync failed, their hook does not
	// answer, other objects have the names of their children, or the server throttles writes that repeat in a loop. A
	// parent without a sync yet is neither synced nor failing.
	Failing int32 `json:"failing"`

	// warned is the number of parents with an event about a probable mistake in the answers of their hook or in the
	// controller.
	// +optional
	Warned int32 `json:"warned,omitempty"`

	// paused is the number of parents that are paused, by their annotation or with the controller. They are neither
	// synced nor failing.
	// +optional
	Paused int32 `json:"paused,omitempty"`
}

// ChildCounts counts children that differ from what the hook wants although no sync failed.
type ChildCounts struct {
	// outdated is the number of children that differ from what the hook wants and that the update method OnDelete does
	// not update. Under server-side apply, a child that another client has changed also counts. To update such a child,
	// delete it.
	Outdated int32 `json:"outdated"`
}

// LastSyncError is a failure to sync a parent.
type LastSyncError struct {
	// message says what went wrong.
	Message string `json:"message"`

	// parent is the object that failed to sync, as "namespace/name", or "name" if it is cluster-scoped.
	// +optional
	Parent string `json:"parent,omitempty"`

	// kind is the kind of that object.
	// +optional
	Kind string `json:"kind,omitempty"`

	// time is the time of the failure.
	Time metav1.Time `json:"time"`

	// recovered is the time of the next sync of the object without an error, or of its deletion. Absent while it still
	// fails.
	// +optional
	Recovered *metav1.Time `json:"recovered,omitempty"`
}
