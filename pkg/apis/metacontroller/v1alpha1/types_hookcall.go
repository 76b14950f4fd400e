// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// HookCall is a recent call of a hook of a controller. It is read-only: the process that runs the controllers serves it
// from memory. It is in the namespace of the parent, or in that of the server if the parent is cluster-scoped. Names
// sort by time. The server keeps a limited number of calls of each controller: the last ones that succeeded, and the
// last ones that failed.
//
// Lists omit the request and the response. "kubectl get hookcall NAME -o yaml" shows them to users who may get the
// controller, the parent, its children and the related objects. The server redacts credentials and values of Secrets.
//
// The labels metacontroller.k8s.io/controller-kind and metacontroller.k8s.io/controller-name name the controller.
// Field selectors are controller, kind (of the controller), parent, hook and result.
type HookCall struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The creation timestamp is the start of the call.
	metav1.ObjectMeta `json:"metadata"`

	// spec names the hook and the parent.
	Spec HookCallSpec `json:"spec"`

	// status is the result of the call.
	// +optional
	Status HookCallStatus `json:"status,omitempty,omitzero"`
}

// HookCallSpec names the hook and the parent.
type HookCallSpec struct {
	// controller is the CompositeController or DecoratorController.
	Controller ControllerReference `json:"controller"`

	// parent is the parent of the CompositeController, or the target of the DecoratorController.
	Parent ParentReference `json:"parent"`

	// hook is sync, finalize or customize.
	Hook string `json:"hook"`

	// url is the address of the call, without secrets.
	URL string `json:"url"`

	// revision is the name of the ControllerRevision with the earlier version of the parent that the call was about,
	// during a rolling update. Absent for the current parent.
	// +optional
	Revision string `json:"revision,omitempty"`
}

// HookCallResult is the result of a call.
// +enum
type HookCallResult string

const (
	// HookCallSucceeded is a call with a usable answer.
	HookCallSucceeded HookCallResult = "Succeeded"
	// HookCallFailed is a call with no answer, or with an unusable one.
	HookCallFailed HookCallResult = "Failed"
	// HookCallThrottled is a call that the hook answered with a request to call later.
	HookCallThrottled HookCallResult = "Throttled"
)

// HookCallStatus is the result of a call.
type HookCallStatus struct {
	// startTime is the start of the call.
	StartTime metav1.MicroTime `json:"startTime"`

	// duration is the duration of the call.
	Duration metav1.Duration `json:"duration"`

	// code is the HTTP status code of the answer. Absent if there was none. 304 means that the answer is the one that
	// the server kept with its ETag.
	// +optional
	Code int32 `json:"code,omitempty"`

	// result is the result of the call.
	Result HookCallResult `json:"result"`

	// conditions are for tools that use kstatus: Stalled is True if the call failed, and absent otherwise.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// message says why the call failed.
	// +optional
	Message string `json:"message,omitempty"`

	// request is the request that was sent.
	// +optional
	Request *HookCallBody `json:"request,omitempty"`

	// response is the answer. Absent if there was none.
	// +optional
	Response *HookCallBody `json:"response,omitempty"`
}

// HookCallBody is a request or an answer. In lists it has only its size.
type HookCallBody struct {
	// bytes is the size of the body in bytes.
	Bytes int64 `json:"bytes"`

	// object is the body, if it is a JSON object and not too large.
	// +optional
	Object *runtime.RawExtension `json:"object,omitempty"`

	// text is a body that is not a JSON object, or the beginning of one that is too large.
	// +optional
	Text string `json:"text,omitempty"`

	// omitted says why the body is missing or incomplete.
	// +optional
	Omitted string `json:"omitted,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// HookCallList is a list of HookCalls.
type HookCallList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the HookCalls.
	Items []HookCall `json:"items"`
}
