// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of Syncs and HookCalls, for -l. The server omits a name that is too long for a label; field selectors find it.
const (
	ControllerKindLabel = "metacontroller.k8s.io/controller-kind"
	ControllerNameLabel = "metacontroller.k8s.io/controller-name"
)

// ConditionSynced is True if the parent of a Sync was in its desired state after its last sync.
const ConditionSynced = "Synced"

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Sync is the progress of a controller on one of its parents or targets. It is read-only: the process that runs the
// controllers serves it from memory. It is in the namespace of the parent, or in that of the server if the parent is
// cluster-scoped. Its name is "cc:<controller>:<parent>" for a CompositeController, and
// "dec:<controller>:<resource>.<group>:<target>" for a DecoratorController. The labels
// metacontroller.k8s.io/controller-kind and metacontroller.k8s.io/controller-name name the controller. Field selectors
// are controller, kind (of the controller), parent and state.
type Sync struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The creation timestamp and the generation are those of the parent.
	metav1.ObjectMeta `json:"metadata"`

	// spec names the parent and the controller.
	Spec SyncSpec `json:"spec"`

	// status is the result of the last sync of the parent, and what happens next.
	// +optional
	Status SyncStatus `json:"status,omitempty,omitzero"`
}

// SyncSpec names a parent and its controller.
type SyncSpec struct {
	// controller is the CompositeController or DecoratorController.
	Controller ControllerReference `json:"controller"`

	// parent is the parent of the CompositeController, or the target of the DecoratorController.
	Parent ParentReference `json:"parent"`
}

// ControllerReference names a CompositeController or a DecoratorController.
type ControllerReference struct {
	// kind is CompositeController or DecoratorController.
	Kind string `json:"kind"`

	// name is the name of the controller.
	Name string `json:"name"`
}

// ParentReference names a parent or target of a controller.
type ParentReference struct {
	// apiVersion is the group and version in which the controller reads the object.
	APIVersion string `json:"apiVersion"`

	// kind is the kind of the object.
	Kind string `json:"kind"`

	// namespace is the namespace of the object. Absent if the object is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the object.
	Name string `json:"name"`

	// uid is the UID of the object.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// SyncState is the progress of a controller on a parent.
// +enum
type SyncState string

const (
	// SyncStateSynced means that the parent was in its desired state after its last sync.
	SyncStateSynced SyncState = "Synced"
	// SyncStateProgressing means that the server creates or rolls out children, or that the parent has changed since
	// its last sync.
	SyncStateProgressing SyncState = "Progressing"
	// SyncStateWaiting means that nothing failed, and that the controller can do nothing more for now.
	SyncStateWaiting SyncState = "Waiting"
	// SyncStateFailing means that the last sync failed.
	SyncStateFailing SyncState = "Failing"
	// SyncStatePaused means that the controller or the parent is paused.
	SyncStatePaused SyncState = "Paused"
)

// SyncStatus is the result of the last sync of a parent, and what happens next.
type SyncStatus struct {
	// state is the progress of the controller on the parent.
	State SyncState `json:"state"`

	// message explains the state: why the last sync failed, what the parent waits for, or the first warning.
	// +optional
	Message string `json:"message,omitempty"`

	// waitsFor describes what the controller waits for. Absent if it waits for nothing.
	// +optional
	WaitsFor string `json:"waitsFor,omitempty"`

	// observedGeneration is the metadata.generation of the parent in the last sync.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// children counts the children of the parent. Absent until the server has called the hook.
	// +optional
	Children *SyncChildren `json:"children,omitempty"`

	// lastSyncTime is the end of the last sync. Absent if the server has not synced the parent since the controllers
	// started.
	// +optional
	LastSyncTime *metav1.MicroTime `json:"lastSyncTime,omitempty"`

	// lastSyncDuration is the duration of the last sync, including the calls of hooks.
	// +optional
	LastSyncDuration *metav1.Duration `json:"lastSyncDuration,omitempty"`

	// nextSyncTime is the time of the next sync of the parent if nothing changes until then. Absent if only a change
	// causes a sync.
	// +optional
	NextSyncTime *metav1.MicroTime `json:"nextSyncTime,omitempty"`

	// backoff counts failures. Absent unless the server retries the parent.
	// +optional
	Backoff *SyncBackoff `json:"backoff,omitempty"`

	// conditions have these types. Synced: True in the state Synced. Paused and Stalled, present only when True: the
	// state is Paused or Failing.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// warnings report probable mistakes, as the events about the parent do.
	// +listType=atomic
	// +optional
	Warnings []SyncWarning `json:"warnings,omitempty"`

	// lastSteps are the steps of the last sync that had any. The server keeps them only for the parents of a controller
	// that it wrote most recently.
	// +optional
	LastSteps *SyncSteps `json:"lastSteps,omitempty"`
}

// SyncChildren counts the children of one parent.
type SyncChildren struct {
	// wanted is the number of children that the hook wants.
	Wanted int32 `json:"wanted"`

	// asWanted is the number of these children that exist and are in their desired state.
	AsWanted int32 `json:"asWanted"`

	// outdated is the number of children that differ from what the hook wants and that the update method OnDelete
	// does not update.
	// +optional
	Outdated int32 `json:"outdated,omitempty"`
}

// SyncBackoff counts the retries of a parent.
type SyncBackoff struct {
	// failures is the number of consecutive syncs that had to be retried. The delay doubles each time, up to 1000
	// seconds.
	Failures int32 `json:"failures"`
}

// SyncWarning is a warning about a probable mistake.
type SyncWarning struct {
	// reason is the reason of the event about it, in CamelCase. If there are several similar warnings, it is the reason of
	// the most serious one.
	Reason string `json:"reason"`

	// message says what is wrong, and what to do.
	Message string `json:"message"`
}

// SyncSteps are the steps of one sync.
type SyncSteps struct {
	// time is the end of the sync.
	Time metav1.MicroTime `json:"time"`

	// steps are the first steps, in order.
	// +listType=atomic
	Steps []SyncStep `json:"steps"`

	// omitted is the number of further steps.
	// +optional
	Omitted int32 `json:"omitted,omitempty"`
}

// SyncStepResult is the result of a step.
// +enum
type SyncStepResult string

const (
	// SyncStepWritten means that the cluster stored a change.
	SyncStepWritten SyncStepResult = "Written"
	// SyncStepUnchanged means that the write changed nothing.
	SyncStepUnchanged SyncStepResult = "Unchanged"
	// SyncStepConflict means that the object had changed in the meantime, so the server wrote nothing.
	SyncStepConflict SyncStepResult = "Conflict"
	// SyncStepNameConflict means that another object has the name.
	SyncStepNameConflict SyncStepResult = "NameConflict"
	// SyncStepFailed means that the write failed.
	SyncStepFailed SyncStepResult = "Failed"
)

// SyncStep is one operation of a sync on one object.
type SyncStep struct {
	// operation is create, update, apply, delete, recreate, adopt, release, "move to server-side apply" or "move to
	// dynamic apply" for a child; status, metadata or finalizer for the parent.
	Operation string `json:"operation"`

	// apiVersion is the API version of the object.
	APIVersion string `json:"apiVersion"`

	// kind is the kind of the object.
	Kind string `json:"kind"`

	// namespace is the namespace of the object. Absent if the object is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name is the name of the object.
	Name string `json:"name"`

	// why is the reason for the step.
	Why string `json:"why"`

	// result is the result of the step.
	Result SyncStepResult `json:"result"`

	// error says why the step failed.
	// +optional
	Error string `json:"error,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SyncList is a list of Syncs.
type SyncList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Syncs.
	Items []Sync `json:"items"`
}
