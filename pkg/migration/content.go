// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json" // integers stay integers

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// fieldsAnnotation is on objects of the definitions that lack fields of the server. It has them in full.
const fieldsAnnotation = group + "/fields-of-metacontroller-apiserver"

// fields is the value of the fieldsAnnotation.
type fields struct {
	// Full is the object at the server, and Stored what the definition has kept of it, both without metadata and status.
	Full   map[string]any `json:"full"`
	Stored map[string]any `json:"stored"`
}

// body returns an object without metadata and status.
func body(of *unstructured.Unstructured) map[string]any {
	rest := maps.Clone(of.Object)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(rest, field)
	}
	return rest
}

// content returns what moves of an object: with the fields that only the server knows, unless the object was changed
// without them.
func content(of object) *unstructured.Unstructured {
	moved := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(body(of.Unstructured))}
	annotations := maps.Clone(of.GetAnnotations())
	if kept := (fields{}); json.Unmarshal([]byte(annotations[fieldsAnnotation]), &kept) == nil &&
		reflect.DeepEqual(kept.Stored, moved.Object) {
		moved.Object = kept.Full
	}
	delete(annotations, fieldsAnnotation)
	moved.SetAPIVersion(group + "/" + servedVersion)
	moved.SetKind(of.name)
	moved.SetName(of.GetName())
	moved.SetNamespace(of.GetNamespace())
	moved.SetOwnerReferences(of.GetOwnerReferences())
	if labels := of.GetLabels(); len(labels) > 0 {
		moved.SetLabels(labels)
	}
	if len(annotations) > 0 {
		moved.SetAnnotations(annotations)
	}
	// The server adds this finalizer by itself, and Metacontroller would never take it off.
	finalizers := slices.DeleteFunc(of.GetFinalizers(), func(name string) bool { return name == v1alpha1.DrainFinalizer })
	if len(finalizers) > 0 {
		moved.SetFinalizers(finalizers)
	}
	return moved
}

// keepFields notes on an object of a definition what the definition has not kept of it.
func keepFields(written *unstructured.Unstructured, full map[string]any) (missing bool, err error) {
	stored := body(written)
	if reflect.DeepEqual(stored, full) {
		return false, nil
	}
	encoded, err := json.Marshal(fields{full, stored})
	if err != nil {
		return false, err
	}
	annotations := orEmpty(written.GetAnnotations())
	annotations[fieldsAnnotation] = string(encoded)
	written.SetAnnotations(annotations)
	return true, nil
}

// differingPaths returns the paths of the fields in which two objects differ, in order. An empty list or map is like
// none, since the server does not keep it.
func differingPaths(a, b map[string]any) []string {
	var paths []string
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		inA, isMapA := a[key].(map[string]any)
		inB, isMapB := b[key].(map[string]any)
		switch {
		case isMapA && isMapB:
			for _, path := range differingPaths(inA, inB) {
				paths = append(paths, key+"."+path)
			}
		case isEmpty(a[key]) && isEmpty(b[key]):
		case !reflect.DeepEqual(a[key], b[key]):
			paths = append(paths, key)
		}
	}
	return paths
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}
