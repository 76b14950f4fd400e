// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Types are the types of a cluster: those of Kubernetes, those of our API, and those that are defined. Its methods may be
// called concurrently.
type Types struct {
	catalog *Catalog
	byKind  map[schema.GroupVersionKind]*Type
	// definitions are the CustomResourceDefinitions.
	definitions []*unstructured.Unstructured
	// document is the OpenAPI document of all types.
	document []byte

	mu sync.Mutex
	// fields are what is known of the fields of kinds.
	fields map[schema.GroupVersionKind]*openapi.Type
}

// Type is one version of a type.
type Type struct {
	schema.GroupVersionResource
	Resource
	// schema describes a custom resource; nil for other types.
	schema map[string]any
}

// GroupResource returns the type without its version.
func (t *Type) GroupResource() schema.GroupResource { return t.GroupVersionResource.GroupResource() }

// IsCustom reports whether a CustomResourceDefinition defines the type.
func (t *Type) IsCustom() bool { return t.schema != nil }

// NewTypes returns the types of a cluster with some CustomResourceDefinitions.
func NewTypes(definitions []*unstructured.Unstructured) (*Types, error) {
	catalog, err := builtIn()
	if err != nil {
		return nil, err
	}
	catalog.Resources[v1alpha1.SchemeGroupVersion.String()] = ownResources
	t := &Types{catalog: catalog, byKind: map[schema.GroupVersionKind]*Type{}, fields: map[schema.GroupVersionKind]*openapi.Type{}}
	for apiVersion, resources := range catalog.Resources {
		version, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range resources {
			t.byKind[version.WithKind(resource.Kind)] = &Type{GroupVersionResource: version.WithResource(resource.Name), Resource: resource}
		}
	}
	for _, definition := range definitions {
		if err := t.define(definition); err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", definition.GetName(), err)
		}
	}
	t.document, err = json.Marshal(map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": catalog.Schemas}})
	if err != nil {
		return nil, err
	}
	for _, definition := range definitions {
		if err := t.Complete(definition); err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", definition.GetName(), err)
		}
		t.definitions = append(t.definitions, definition)
	}
	return t, nil
}

// ownResources are the types of our API that are stored.
var ownResources = []Resource{
	{Name: "compositecontrollers", Kind: "CompositeController", Status: true},
	{Name: "decoratorcontrollers", Kind: "DecoratorController", Status: true},
	{Name: "controllerrevisions", Kind: "ControllerRevision", Namespaced: true},
}

// Of returns the type of a kind. The error says which versions of it there are, if any.
func (t *Types) Of(kind schema.GroupVersionKind) (*Type, error) {
	if found := t.byKind[kind]; found != nil {
		return found, nil
	}
	var versions []string
	for other := range t.byKind {
		if other.GroupKind() == kind.GroupKind() {
			versions = append(versions, other.GroupVersion().String())
		}
	}
	if len(versions) > 0 {
		slices.Sort(versions)
		return nil, fmt.Errorf("its apiVersion is %s, and there is %s", kind.GroupVersion(), strings.Join(versions, ", "))
	}
	return nil, fmt.Errorf("there is no type %s of %s: give its CustomResourceDefinition", kind.Kind, kind.GroupVersion())
}

// named returns the type of a resource; nil if there is none.
func (t *Types) named(version schema.GroupVersion, resource string) *Type {
	for _, known := range t.catalog.Resources[version.String()] {
		if known.Name == resource {
			return t.byKind[version.WithKind(known.Kind)]
		}
	}
	return nil
}
