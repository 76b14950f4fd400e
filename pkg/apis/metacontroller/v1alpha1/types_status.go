// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControllerStatus is the last observed state of the running controller of a CompositeController or
// DecoratorController. It is refreshed once a second at most.
type ControllerStatus struct {
	// observedGeneration is the metadata.generation that this status is about. If it is lower than the current one, the
	// last change of the spec has not been observed yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// runningGeneration is the metadata.generation of the spec that the controller still runs with, because it cannot use
	// the current one; the condition Ready says why. Absent otherwise.
	// +optional
	RunningGeneration int64 `json:"runningGeneration,omitempty"`

	// conditions say how the controller is doing. Ready: it runs as its current spec says and syncs parents.
	// ParentsSynced: every parent is as its hook wants. HooksReachable: the last calls of the hooks were answered.
	// Warnings: it runs, but probably not as its author intends. Paused, present only when True: the controller or some
	// of its parents have been paused since then. Stalled, present only when True: Ready is False, and only a change of
	// the spec or of another object can end that. The reason and the message of a condition say why.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// parents counts the objects that the controller is for: the parents of a CompositeController, the targets of a
	// DecoratorController. Absent until they have been counted.
	// +optional
	Parents *ParentCounts `json:"parents,omitempty"`

	// children counts children that are not as their hook wants although no sync failed. Absent until they have been
	// counted.
	// +optional
	Children *ChildCounts `json:"children,omitempty"`

	// lastError is the most recent failure to sync a parent. It stays after the parent has recovered, and then says when
	// the parent recovered.
	// +optional
	LastError *LastSyncError `json:"lastError,omitempty"`

	// heldResources are the types of objects that may have the finalizer of this controller. The server removes the
	// finalizer from them before the controller is gone, when the finalize hook is removed from the spec, and when the
	// spec changes to another type.
	// +listType=atomic
	// +optional
	HeldResources []ResourceRule `json:"heldResources,omitempty"`
}

// ParentCounts counts parents by how their last sync went.
type ParentCounts struct {
	// total is how many parents there are.
	Total int32 `json:"total"`

	// synced is the number of parents that were in their desired state after their last sync.
	Synced int32 `json:"synced"`

	// failing is how many of them are not: their last sync failed, their hook does not answer, names of their children
	// belong to others, or endless writes are slowed down. A parent that has not been synced yet is in neither count.
	Failing int32 `json:"failing"`

	// warned is how many of them are synced although the result is probably not what the author of the hook or of the
	// controller intends: the cluster does not know a field, a child is out of date or listed twice, a rollout has waited
	// for a long time, or the cluster warns of a child. Events about these parents say what it is.
	// +optional
	Warned int32 `json:"warned,omitempty"`

	// paused is how many of them are left alone because the controller is paused, or because their annotation
	// metacontroller.k8s.io/paused is "true". They are neither synced nor failing.
	// +optional
	Paused int32 `json:"paused,omitempty"`
}

// ChildCounts counts children that are not as their hook wants although no sync failed.
type ChildCounts struct {
	// outdated is the number of children that the update method OnDelete leaves unchanged although they differ from what
	// the hook wants. Under server-side apply, a child that another client has changed also counts. To update such a
	// child, delete it: the controller then creates it as the hook wants it.
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

	// time is when it failed.
	Time metav1.Time `json:"time"`

	// recovered is when the object was next synced without an error, or was gone. Absent while it still fails.
	// +optional
	Recovered *metav1.Time `json:"recovered,omitempty"`
}
