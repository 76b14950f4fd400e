// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CurrentRevisionAnnotation marks the ControllerRevision of a parent's current version. No other ControllerRevision of
// that parent has it.
const CurrentRevisionAnnotation = GroupName + "/current"

// +genclient
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerRevision records a version of a parent, the current or an earlier one, and the children that are at this
// version. Rolling updates use it. The server creates and deletes it; do not change it. The parent owns it. It is in
// the namespace of the parent, or in that of the server if the parent is cluster-scoped.
type ControllerRevision struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name ends in a hash of the parent's UID and of parentPatch.
	metav1.ObjectMeta `json:"metadata"`

	// parentPatch is a partial parent: only the fields in the controller's "parentResource.revisionHistory.fieldPaths",
	// with their values in this version.
	ParentPatch runtime.RawExtension `json:"parentPatch"`

	// children are the children of the parent that are at this version, or will be.
	// +listType=atomic
	// +optional
	Children []ControllerRevisionChildren `json:"children,omitzero"`
}

// ControllerRevisionChildren names children of one kind.
type ControllerRevisionChildren struct {
	// apiGroup is the API group of the children, without a version; empty for the core group.
	APIGroup string `json:"apiGroup"`

	// kind is the kind of the children, for example "Pod".
	Kind string `json:"kind"`

	// names are the names of the children, as "namespace/name" if the parent is cluster-scoped and the children are
	// not.
	// +listType=atomic
	Names []string `json:"names"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ControllerRevisionList is a list of ControllerRevisions.
type ControllerRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the ControllerRevisions.
	Items []ControllerRevision `json:"items"`
}
