// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json" // integers stay integers

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	group = v1alpha1.GroupName
	// servedVersion is the version that clients use. copyVersion is a second version of the definitions, which only this
	// package uses.
	servedVersion = "v1alpha1"
	copyVersion   = "v0migration"

	// maxNamed bounds the objects that a message names.
	maxNamed = 10
	// parallel bounds the concurrent requests.
	parallel = 16
)

// kind is one of the kinds that are moved.
type kind struct {
	name     string
	resource string
}

// kinds returns the kinds, the controllers last.
func kinds() []kind {
	return []kind{
		{"ControllerRevision", "controllerrevisions"},
		{"DecoratorController", "decoratorcontrollers"},
		{"CompositeController", "compositecontrollers"},
	}
}

func (k kind) definition() string { return k.resource + "." + group }

func (k kind) in(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: k.resource}
}

// object is an object of one of the kinds.
type object struct {
	kind
	*unstructured.Unstructured
}

func (o object) String() string { return named(o.name, o.GetNamespace(), o.GetName()) }

func named(kind, namespace, name string) string {
	return kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}

// objects maps the String of each object to it.
type objects map[string]object

// deleting returns an error if an object is being deleted.
func (o objects) deleting() error {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if of := o[name]; of.GetDeletionTimestamp() != nil {
			return fmt.Errorf(
				"%s is being deleted, and has the finalizers %v: wait until it is deleted", name, of.GetFinalizers())
		}
	}
	return nil
}

// fieldsAnnotation is on objects in the definitions whose schema lacks fields of the server. It has the entire object.
const fieldsAnnotation = group + "/fields-of-metacontroller-apiserver"

// fields is the value of the fieldsAnnotation.
type fields struct {
	// Full is the object at the server, and Stored is the part that the definition has kept, both without metadata and
	// status.
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

// content returns the part of an object that is copied. If the definition has dropped fields, content restores them
// unless the object was edited since.
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
	// The server adds this finalizer itself, and Metacontroller would never remove it.
	finalizers := slices.DeleteFunc(of.GetFinalizers(), func(name string) bool { return name == v1alpha1.DrainFinalizer })
	if len(finalizers) > 0 {
		moved.SetFinalizers(finalizers)
	}
	return moved
}

// differingPaths returns the sorted paths of the fields in which two objects differ. An empty list or map equals a
// missing one, because the server does not keep it.
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
