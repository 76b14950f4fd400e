// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// recordLastApplied has a child record what the hook wanted of it when it was last written by dynamic apply, unless it
// does already.
func recordLastApplied(child, wanted *unstructured.Unstructured) error {
	annotations := child.GetAnnotations()
	if _, recorded := annotations[object.LastAppliedAnnotation]; recorded {
		return nil
	}
	raw, err := object.Canonical(withoutStatus(wanted).Object)
	if err != nil {
		return err
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[object.LastAppliedAnnotation] = string(raw)
	child.SetAnnotations(annotations)
	return nil
}

// recordApplied has a child record which of its fields were applied by server-side apply, unless it does already.
func recordApplied(child, wanted *unstructured.Unstructured) error {
	if len(child.GetManagedFields()) > 0 {
		return nil
	}
	applied := withoutStatus(wanted)
	applied.SetOwnerReferences(child.GetOwnerReferences())
	value, err := typed.DeducedParseableType.FromUnstructured(applied.Object)
	if err != nil {
		return err
	}
	fields, err := value.ToFieldSet()
	if err != nil {
		return err
	}
	identity := fieldpath.NewSet(
		fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"),
	)
	raw, err := fields.Difference(identity).ToJSON()
	if err != nil {
		return err
	}
	child.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: object.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: child.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(strings.TrimSpace(string(raw))),
	}})
	return nil
}

// withoutStatus returns a copy of a child with what a hook can want of it.
func withoutStatus(child *unstructured.Unstructured) *unstructured.Unstructured {
	kept := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(child.Object)}
	delete(kept.Object, "status")
	metadata, _ := kept.Object["metadata"].(map[string]any)
	for name := range metadata {
		switch name {
		case "name", "namespace", "labels", "annotations":
		default:
			delete(metadata, name)
		}
	}
	return kept
}
