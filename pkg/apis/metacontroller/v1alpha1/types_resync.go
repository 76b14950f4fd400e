// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ResyncRequest requests an immediate sync of parents of a controller. Create it in the subresource resync of a
// CompositeController or a DecoratorController: "kubectl create --raw
// /apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/NAME/resync -f request.json". The server answers with the
// status, and does not store the request. A user who creates it needs the right to create compositecontrollers/resync
// or decoratorcontrollers/resync. With dryRun=All, the server only counts the parents.
type ResyncRequest struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. A request needs no name.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec selects the parents.
	Spec ResyncRequestSpec `json:"spec"`

	// status is the answer.
	// +optional
	Status ResyncRequestStatus `json:"status,omitempty"`
}

// ResyncRequestSpec selects the parents to sync. Exactly one of parent and parents must be set.
type ResyncRequestSpec struct {
	// parent is the only parent to sync, for example {namespace: shop, name: web}.
	// Default: absent.
	// +optional
	Parent *SyncReviewParent `json:"parent,omitempty"`

	// parents selects the parents to sync, for example {namespace: shop}. {} selects all parents of the controller.
	// Default: absent.
	// +optional
	Parents *ResyncParents `json:"parents,omitempty"`
}

// ResyncParents selects parents of a controller.
type ResyncParents struct {
	// namespace is the namespace of the parents.
	// Default: absent, parents in all namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// labelSelector selects parents by their labels, for example {matchLabels: {app: web}}.
	// Default: absent, all parents.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ResyncRequestStatus is the answer to a ResyncRequest.
type ResyncRequestStatus struct {
	// parents is the number of parents that the server will sync: one after the other, at most 100 of a controller per
	// second, before parents that are retried or resynced, and after parents that have changed.
	Parents int32 `json:"parents"`

	// paused is the number of selected parents that are paused, by their annotation or with their controller. The
	// request does not sync them, and parents does not count them.
	// +optional
	Paused int32 `json:"paused,omitempty"`

	// notes give reasons why the numbers may be unexpected.
	// +listType=atomic
	// +optional
	Notes []string `json:"notes,omitempty"`
}
