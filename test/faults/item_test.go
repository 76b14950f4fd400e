// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// itemKind is what hooks call the kind of Items.
const itemKind = "Item.faults.example.com/v1"

// item is an Item as hooks answer it.
func item(name string, data object) object {
	return object{"apiVersion": "faults.example.com/v1", "kind": "Item", "metadata": object{"name": name}, "data": data}
}

func (r *run) items() dynamic.ResourceInterface {
	return env.Dynamic.Resource(sharedTypesOf(r).items).Namespace(r.Namespace)
}

// createItem creates an Item as a user.
func (r *run) createItem(name string, labels, data object) {
	r.Helper()
	created := &unstructured.Unstructured{Object: item(name, data)}
	created.Object["metadata"].(object)["labels"] = labels
	if _, err := r.items().Create(r.Context(), created, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// patchItem changes an Item as a user.
func (r *run) patchItem(name string, patch object) {
	r.Helper()
	if _, err := r.items().Patch(r.Context(), name, types.MergePatchType, []byte(harness.JSON(r, patch)), metav1.PatchOptions{}); err != nil {
		r.Fatal(err)
	}
}

// deleteItem deletes an Item as a user.
func (r *run) deleteItem(name string) {
	r.Helper()
	if err := r.items().Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
}
