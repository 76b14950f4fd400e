// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Import brings one object of metacontroller.k8s.io from another server into the storage of this one, with its UID, creation
// time, generation, labels, annotations, finalizers, owners, status and managedFields. To create an Import again is to import the object
// again. There is also an Import of each object that is stored here without having been imported. To delete an Import is to
// forget where the object came from; the object stays.
type Import struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is the UID of the object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the object as the other server has it. It is not kept.
	// +optional
	Spec ImportSpec `json:"spec,omitempty,omitzero"`

	// status is what became of it here.
	// +optional
	Status ImportStatus `json:"status,omitempty,omitzero"`
}

// ImportSpec is the object as the other server has it.
type ImportSpec struct {
	// object is the whole object. Its version may be another one than v1alpha1 if its fields are the same. Of an object that is
	// deleted, only apiVersion, kind, name and namespace are needed.
	Object runtime.RawExtension `json:"object"`

	// deleted is true if the other server no longer has the object. It is then removed here, whatever finalizers it has.
	// Default: false.
	// +optional
	Deleted bool `json:"deleted,omitempty"`

	// overwrite brings the object into the state of the other server although it was changed or deleted here since it was
	// imported. Without it, what was changed here stays, and what was changed there is merged with it; an object that was deleted on one
	// side and changed on the other is in conflict.
	// Default: false.
	// +optional
	Overwrite bool `json:"overwrite,omitempty"`

	// exported is true if the other server has just got its object from here. Nothing is stored but that the two are the same now. The
	// UID of its object may be another one than here.
	// Default: false.
	// +optional
	Exported bool `json:"exported,omitempty"`
}

// ImportStatus is what became of an object here.
type ImportStatus struct {
	// result is what the import did. It is only in the answer to it.
	// +optional
	Result ImportResult `json:"result,omitempty"`

	// sourceResourceVersion is the resourceVersion that the object had at the other server when it was imported last; empty if it
	// never was.
	// +optional
	SourceResourceVersion string `json:"sourceResourceVersion,omitempty"`

	// fingerprint is that of the object as it was imported. The status and the managedFields do not count.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// changed is true if the object was changed or deleted here since it was imported, or was never imported.
	// +optional
	Changed bool `json:"changed,omitempty"`

	// object is the object as it is stored here; absent if it was deleted.
	// +optional
	Object *runtime.RawExtension `json:"object,omitempty"`
}

// ImportResult is what an import did.
type ImportResult string

const (
	// ImportCreated means that the object was not here before.
	ImportCreated ImportResult = "Created"
	// ImportUpdated means that the object was brought into the newer state of the other server.
	ImportUpdated ImportResult = "Updated"
	// ImportMerged means that the object was changed here and there since it was imported, and has both changes now. Of a field that
	// was changed on both sides, the value that was here counts.
	ImportMerged ImportResult = "Merged"
	// ImportDeleted means that the object was removed, as at the other server.
	ImportDeleted ImportResult = "Deleted"
	// ImportUnchanged means that nothing had to be done.
	ImportUnchanged ImportResult = "Unchanged"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ImportList is a list of Imports.
type ImportList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Imports.
	Items []Import `json:"items"`
}
