// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Definitions returns the names of Metacontroller's CustomResourceDefinitions.
func Definitions() []string {
	return []string{"compositecontrollers." + v1alpha1.GroupName, "controllerrevisions." + v1alpha1.GroupName,
		"decoratorcontrollers." + v1alpha1.GroupName}
}

func definitionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// HidesObjects reports whether an APIService that leads to a server hides the objects of a definition: the definition
// was there first and serves the same version, and its objects were not moved. A definition that is created
// later does not stop the controllers.
func HidesObjects(service, definition *unstructured.Unstructured) bool {
	if service.GetAnnotations()[v1alpha1.MovedAnnotation] == "true" {
		return false
	}
	made, registered := definition.GetCreationTimestamp(), service.GetCreationTimestamp()
	return Serves(definition, v1alpha1.SchemeGroupVersion.Version) && !registered.Before(&made)
}

// Serves reports whether a definition serves a version.
func Serves(definition *unstructured.Unstructured, name string) bool {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, item := range versions {
		if version, ok := item.(map[string]any); ok && version["name"] == name && version["served"] == true {
			return true
		}
	}
	return false
}
