// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of Syncs and HookCalls, for -l. A name that is too long for a label is left out; field selectors find it.
const (
	ControllerKindLabel = "metacontroller.k8s.io/controller-kind"
	ControllerNameLabel = "metacontroller.k8s.io/controller-name"
)

// ConditionSynced is True if the parent of a Sync was in its desired state after its last sync.
const ConditionSynced = "Synced"

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Sync is the progress of a controller on one of its parents or targets. The process that runs the controllers serves
// it from memory; it cannot be written. It is in the namespace of the parent, or in that of the server if the parent
// is cluster-scoped. Its name is "cc:<controller>:<parent>" for a CompositeController, and
// "dec:<controller>:<resource>.<group>:<target>" for a DecoratorController. The labels
// metacontroller.k8s.io/controller-kind and metacontroller.k8s.io/controller-name name the controller. Field selectors
// are controller, kind (of the controller), parent and state.
type Sync struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The creation timestamp and the generation are copied from the parent.
	metav1.ObjectMeta `json:"metadata"`

	// spec says which parent of which controller this is about.
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
	// SyncStateSynced says that the parent was in its desired state after its last sync.
	SyncStateSynced SyncState = "Synced"
	// SyncStateProgressing says that children are being created or rolled out, or that the parent has changed since its
	// last sync.
	SyncStateProgressing SyncState = "Progressing"
	// SyncStateWaiting says that nothing failed, and that the controller can do nothing more for now.
	SyncStateWaiting SyncState = "Waiting"
	// SyncStateFailing says that the last sync failed.
	SyncStateFailing SyncState = "Failing"
	// SyncStatePaused says that the controller or the parent is paused.
	SyncStatePaused SyncState = "Paused"
)

// SyncStatus is the result of the last sync of a parent, and what happens next.
type SyncStatus struct {
	// state is Synced, Progressing, Waiting, Failing or Paused.
	State SyncState `json:"state"`

	// message says why the last sync failed, what the parent waits for, or what a warning is.
	// +optional
	Message string `json:"message,omitempty"`

	// waitsFor is what has to happen before the next sync. Absent if the controller waits for nothing.
	// +optional
	WaitsFor string `json:"waitsFor,omitempty"`

	// observedGeneration is the metadata.generation of the parent that was synced the last time.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// children counts the children of the parent. Absent until the hook has been called.
	// +optional
	Children *SyncChildren `json:"children,omitempty"`

	// lastSyncTime is when the last sync ended. Absent if the parent has not been synced since the controllers
	// started.
	// +optional
	LastSyncTime *metav1.MicroTime `json:"lastSyncTime,omitempty"`

	// lastSyncDuration is how long the last sync took, with the calls of hooks.
	// +optional
	LastSyncDuration *metav1.Duration `json:"lastSyncDuration,omitempty"`

	// nextSyncTime is the time of the next sync of the parent if nothing changes before. Absent if only a change causes
	// a sync.
	// +optional
	NextSyncTime *metav1.MicroTime `json:"nextSyncTime,omitempty"`

	// backoff is set while the parent is retried.
	// +optional
	Backoff *SyncBackoff `json:"backoff,omitempty"`

	// conditions are Synced, which is True in the state Synced, and Paused, which is present only when True.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// warnings are probable mistakes, as in the events about the parent.
	// +listType=atomic
	// +optional
	Warnings []SyncWarning `json:"warnings,omitempty"`

	// lastSteps are the steps of the last sync that did something. The server keeps them for the parents that each
	// controller wrote last.
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

// SyncBackoff says how often a parent has been retried.
type SyncBackoff struct {
	// failures is the number of consecutive syncs that had to be retried. The delay doubles each time, up to 1000
	// seconds.
	Failures int32 `json:"failures"`
}

// SyncWarning is a probable mistake although the sync succeeded.
type SyncWarning struct {
	// reason is the reason of the event about it, in CamelCase. If there are several similar warnings, it is the reason of
	// the most serious one.
	Reason string `json:"reason"`

	// message says what is wrong, and what to do.
	Message string `json:"message"`
}

// SyncSteps are the steps of one sync.
type SyncSteps struct {
	// time is when the sync ended.
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
	// SyncStepWritten says that the cluster stored a change.
	SyncStepWritten SyncStepResult = "Written"
	// SyncStepUnchanged says that the write changed nothing.
	SyncStepUnchanged SyncStepResult = "Unchanged"
	// SyncStepConflict says that the object had changed in the meantime, so nothing was written.
	SyncStepConflict SyncStepResult = "Conflict"
	// SyncStepNameConflict says that another object has the name.
	SyncStepNameConflict SyncStepResult = "NameConflict"
	// SyncStepFailed says that the write failed.
	SyncStepFailed SyncStepResult = "Failed"
)

// SyncStep is one thing that a sync did to one object.
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

	// why is the reason of the step.
	Why string `json:"why"`

	// result is the result of the step.
	Result SyncStepResult `json:"result"`

	// error says why it failed.
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
