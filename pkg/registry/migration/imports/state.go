// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// stateOf returns what an object is like.
func (r *REST) stateOf(object runtime.Object) (state, error) {
	of, err := meta.Accessor(object)
	if err != nil {
		return state{}, err
	}
	managed, err := json.Marshal(withoutStatus(of.GetManagedFields()))
	if err != nil {
		return state{}, err
	}
	encoded, err := runtime.Encode(r.codec, object)
	if err != nil {
		return state{}, err
	}
	fingerprint, err := fingerprint(encoded)
	return state{uid: of.GetUID(), resourceVersion: of.GetResourceVersion(), fingerprint: fingerprint, managed: string(managed)}, err
}

// fingerprint returns a hash of an object without what differs from server to server, and without the status.
func fingerprint(encoded []byte) (string, error) {
	canonical, err := contentOf(encoded)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(canonical)), nil
}

// contentOf returns an encoded object without its status, resourceVersion and managedFields, with keys in order.
func contentOf(encoded []byte) ([]byte, error) {
	var content unstructured.Unstructured
	if err := json.Unmarshal(encoded, &content.Object); err != nil {
		return nil, err
	}
	content.SetResourceVersion("")
	content.SetManagedFields(nil)
	delete(content.Object, "status")
	return json.Marshal(content.Object)
}

// withoutStatus returns who manages the fields of an object outside of its status.
func withoutStatus(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(entries), func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource == "status" })
}

// ofStatus returns who manages the fields of the status.
func ofStatus(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(entries), func(entry metav1.ManagedFieldsEntry) bool { return entry.Subresource != "status" })
}
