// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ResyncRequest has parents of a controller synced now. It is created in the subresource resync of a controller, answered, and
// never stored.
type ResyncRequest struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   ResyncRequestSpec
	Status ResyncRequestStatus
}

// ResyncRequestSpec says which parents are synced.
type ResyncRequestSpec struct {
	Parent  *SyncReviewParent
	Parents *ResyncParents
}

// ResyncParents selects some of the parents that a controller has.
type ResyncParents struct {
	Namespace     string
	LabelSelector *metav1.LabelSelector
}

// ResyncRequestStatus is the answer to a ResyncRequest.
type ResyncRequestStatus struct {
	Parents int32
	Paused  int32
	Notes   []string
}

// WatchedObject names an object of the cluster.
type WatchedObject struct {
	ResourceRule
	Namespace string
	Name      string
}
