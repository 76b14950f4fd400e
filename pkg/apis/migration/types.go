// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Import brings one object of metacontroller.k8s.io from another server into the storage of this one.
type Import struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   ImportSpec
	Status ImportStatus
}

// ImportSpec is the object as the other server has it.
type ImportSpec struct {
	Object    runtime.RawExtension
	Deleted   bool
	Overwrite bool
	Exported  bool
}

// ImportStatus is what became of it here.
type ImportStatus struct {
	Result                ImportResult
	SourceResourceVersion string
	Fingerprint           string
	Changed               bool
	Object                *runtime.RawExtension
}

// ImportResult is what an import did to the object in the storage.
type ImportResult string

const (
	ImportCreated   ImportResult = "Created"
	ImportUpdated   ImportResult = "Updated"
	ImportDeleted   ImportResult = "Deleted"
	ImportMerged    ImportResult = "Merged"
	ImportUnchanged ImportResult = "Unchanged"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImportList is a list of Imports.
type ImportList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []Import
}
