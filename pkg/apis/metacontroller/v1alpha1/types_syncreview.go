// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +genclient
// +genclient:nonNamespaced
// +genclient:onlyVerbs=create
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SyncReview previews syncs of a controller: the requests and answers of the hook, and the writes that would follow,
// each with its reason and its changes. Create one to get its answer: "kubectl create -f review.yaml -o yaml" prints it
// with its status. The server does not store it. A review writes nothing to the cluster, records no events, and does
// not count as a sync.
//
// A user who creates a SyncReview needs the right to get the controller, and every parent, child and related object
// that the review shows, and to list the objects that the review selects from.
type SyncReview struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. A review needs no name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the controller, the parents, and the last stage of the review.
	Spec SyncReviewSpec `json:"spec"`

	// status is the answer.
	// +optional
	Status SyncReviewStatus `json:"status,omitempty,omitzero"`
}

// SyncReviewSpec defines a review. Exactly one of parent, parents and object must be set.
type SyncReviewSpec struct {
	// controller is the controller to review. It must exist unless there is a candidate.
	Controller SyncReviewController `json:"controller"`

	// candidate is a spec of the controller to review instead of the stored one. The server checks its fields, the
	// user's rights, and admission, as if the user created or updated the controller.
	// Default: absent, the stored spec.
	// +optional
	Candidate *runtime.RawExtension `json:"candidate,omitempty"`

	// parent is the only parent to review, for example {namespace: shop, name: web}.
	// Default: absent.
	// +optional
	Parent *SyncReviewParent `json:"parent,omitempty"`

	// parents selects parents of the controller to review. For example {namespace: shop} or {limit: 100}.
	// Default: absent.
	// +optional
	Parents *SyncReviewParents `json:"parents,omitempty"`

	// object is a complete parent, which need not exist. If a parent with its name exists, the review shows what would
	// happen after an update to this object; the existing object provides what an update does not change, such as the
	// uid and the status. The user needs the right to create or update such an object. Without an existing object, the
	// uid in the owner references of children is 00000000-0000-0000-0000-000000000000.
	// Default: absent.
	// +optional
	Object *runtime.RawExtension `json:"object,omitempty"`

	// response is the answer of the sync hook about the current parent, or of the finalize hook if the parent is being
	// finalized. The server then does not call that hook.
	// Default: absent, the server calls the hook unless calls is None.
	// +optional
	Response *runtime.RawExtension `json:"response,omitempty"`

	// responses are answers to other calls: of the customize hook, and, during a rolling update, about earlier versions
	// of a parent. The server uses the first one that matches a call.
	// Default: empty.
	// +listType=atomic
	// +optional
	Responses []SyncReviewResponse `json:"responses,omitempty"`

	// request replaces the request to the sync or finalize hook, for example by one that was sent before. The plan is
	// still for the existing objects.
	// Default: absent, the request is about the existing objects.
	// +optional
	Request *runtime.RawExtension `json:"request,omitempty"`

	// calls defines whether the server calls hooks for answers that response and responses do not contain. With None,
	// the status lists each call whose answer is missing, with its request. The client can then call a hook that the
	// server cannot reach, and send the review again with the answer, until no answer is missing.
	// Default: All.
	// +default="All"
	// +optional
	Calls SyncReviewCalls `json:"calls,omitempty"`

	// until is the last stage of the review.
	// Default: Plan.
	// +default="Plan"
	// +optional
	Until SyncReviewStage `json:"until,omitempty"`

	// details defines how much the status shows of each parent.
	// Default: All.
	// +default="All"
	// +optional
	Details SyncReviewDetails `json:"details,omitempty"`

	// timeoutSeconds is the maximum duration of the review, from 1 to 30. After that, a review of several parents ends
	// with the parents reviewed so far, and sets status.continue for the others; a review of one parent fails.
	// Default: 20.
	// +default=20
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// SyncReviewController names a controller.
type SyncReviewController struct {
	// kind of the controller: CompositeController or DecoratorController.
	Kind string `json:"kind"`

	// name of the controller. With a candidate, the name may be new.
	Name string `json:"name"`
}

// SyncReviewParent names a parent.
type SyncReviewParent struct {
	// apiVersion of the parent, for example "apps/v1".
	// Default: absent, that of the controller's parents. Required only for a DecoratorController with several types of the
	// same kind.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the parent, for example "Deployment".
	// Default: absent, that of the controller's parents. Required only for a DecoratorController with several kinds.
	// +optional
	Kind string `json:"kind,omitempty"`

	// namespace of the parent.
	// Default: absent, for a cluster-scoped parent.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name of the parent, without its namespace.
	Name string `json:"name"`
}

// SyncReviewParents selects parents of a controller.
type SyncReviewParents struct {
	// namespace is the namespace of the parents.
	// Default: absent, parents in all namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// labelSelector selects parents by their labels, for example {matchLabels: {app: web}}.
	// Default: absent, all parents.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`

	// limit is the maximum number of parents in one answer, from 1 to 100.
	// Default: 20.
	// +default=20
	// +optional
	Limit *int32 `json:"limit,omitempty"`

	// continue is the status.continue of the previous answer, to review the parents after those.
	// Default: absent, the review begins with the first.
	// +optional
	Continue string `json:"continue,omitempty"`
}

// SyncReviewResponse is the answer of a hook to one of the calls of a review.
type SyncReviewResponse struct {
	// hook that gave the answer: sync, finalize or customize.
	Hook string `json:"hook"`

	// revision is the name of the ControllerRevision with the version of the parent that the call is about. Default:
	// absent, the current parent.
	// +optional
	Revision string `json:"revision,omitempty"`

	// parent is the parent that the call is about.
	// Default: absent, any parent.
	// +optional
	Parent *SyncReviewParent `json:"parent,omitempty"`

	// response is the answer of the hook, a JSON object.
	Response runtime.RawExtension `json:"response"`
}

// SyncReviewCalls defines whether the server calls hooks.
// +enum
type SyncReviewCalls string

const (
	// SyncReviewCallsAll calls hooks for the answers that the review does not contain.
	SyncReviewCallsAll SyncReviewCalls = "All"
	// SyncReviewCallsNone calls no hook.
	SyncReviewCallsNone SyncReviewCalls = "None"
)

// SyncReviewDetails defines how much the status shows of each parent.
// +enum
type SyncReviewDetails string

const (
	// SyncReviewDetailsAll shows everything.
	SyncReviewDetailsAll SyncReviewDetails = "All"
	// SyncReviewDetailsSteps omits the answers of hooks, and the requests except those whose answer is missing.
	SyncReviewDetailsSteps SyncReviewDetails = "Steps"
)

// SyncReviewStage is a stage of a sync.
// +enum
type SyncReviewStage string

const (
	// SyncReviewUntilRequest stops before the call of the sync or finalize hook, and shows its request. The server
	// calls a customize hook.
	SyncReviewUntilRequest SyncReviewStage = "Request"
	// SyncReviewUntilResponse stops when the hooks have answered.
	SyncReviewUntilResponse SyncReviewStage = "Response"
	// SyncReviewUntilPlan shows the writes that would follow.
	SyncReviewUntilPlan SyncReviewStage = "Plan"
	// SyncReviewUntilDryRun sends each write of the plan to the cluster with dryRun=All, as the controller would, so
	// that its defaults, admission and quotas apply. The cluster stores nothing.
	SyncReviewUntilDryRun SyncReviewStage = "DryRun"
)
