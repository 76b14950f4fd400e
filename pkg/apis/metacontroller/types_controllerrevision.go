// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerRevision remembers, during a rolling update, one earlier or current version of a parent
// and which of its children are still at that version. It lives beside the parent, is owned by it,
// and is made and removed by the server. It is not meant to be written by people.
type ControllerRevision struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	ParentPatch runtime.RawExtension
	Children    []ControllerRevisionChildren
}

// ControllerRevisionChildren names children of one kind.
type ControllerRevisionChildren struct {
	APIGroup string
	Kind     string
	Names    []string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerRevisionList is a list of ControllerRevisions.
type ControllerRevisionList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []ControllerRevision
}
