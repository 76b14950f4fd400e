// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	_ "embed" // for builtInJSON
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Types are the types of a cluster: the types of Kubernetes, of this API, and of CustomResourceDefinitions. Its methods
// are safe for concurrent use.
type Types struct {
	catalog *Catalog
	byKind  map[schema.GroupVersionKind]*Type
	// definitions are the CustomResourceDefinitions.
	definitions []*unstructured.Unstructured
	// document is the OpenAPI document of all types.
	document []byte

	mu sync.Mutex
	// fields caches the fields of kinds.
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
	t := &Types{catalog: catalog, byKind: map[schema.GroupVersionKind]*Type{},
		fields: map[schema.GroupVersionKind]*openapi.Type{}}
	for apiVersion, resources := range catalog.Resources {
		version, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range resources {
			t.byKind[version.WithKind(resource.Kind)] = &Type{GroupVersionResource: version.WithResource(resource.Name),
				Resource: resource}
		}
	}
	for _, definition := range definitions {
		if err := t.define(definition); err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", definition.GetName(), err)
		}
	}
	t.document, err = json.Marshal(map[string]any{"openapi": "3.0.0",
		"components": map[string]any{"schemas": catalog.Schemas}})
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

// Of returns the type of a kind. The error lists other versions of it, if any.
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
		return nil, fmt.Errorf(
			"its apiVersion is %s, but its kind exists only in %s", kind.GroupVersion(), strings.Join(versions, ", "))
	}
	return nil, fmt.Errorf("unknown type %s of %s: add its CustomResourceDefinition", kind.Kind, kind.GroupVersion())
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

// builtInJSON are the types of a cluster without CustomResourceDefinitions. A test compares it with a real one, and writes
// it (test/integration/plugin).
//
//go:embed builtin.json
var builtInJSON []byte

// Catalog describes types as a cluster does.
type Catalog struct {
	// Resources are the types by their apiVersion.
	Resources map[string][]Resource `json:"resources"`
	// Schemas are the schemas of their OpenAPI documents by name, with what merging needs of them.
	Schemas map[string]json.RawMessage `json:"schemas"`
}

// Resource is a type.
type Resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced,omitempty"`
	// Status is true if its status is written by itself.
	Status bool `json:"status,omitempty"`
}

// builtIn returns the types of a cluster without CustomResourceDefinitions.
func builtIn() (*Catalog, error) {
	catalog := &Catalog{}
	if err := json.Unmarshal(builtInJSON, catalog); err != nil {
		return nil, fmt.Errorf("read the types of Kubernetes: %w", err)
	}
	return catalog, nil
}

// definition is the part of a CustomResourceDefinition that is used.
type definition struct {
	Spec struct {
		Group    string
		Scope    string
		Names    struct{ Plural, Kind string }
		Versions []struct {
			Name         string
			Served       bool
			Subresources struct{ Status *struct{} }
			Schema       struct {
				OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
			}
		}
	}
}

// define adds the types of a CustomResourceDefinition.
func (t *Types) define(object *unstructured.Unstructured) error {
	raw, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	var of definition
	if err := json.Unmarshal(raw, &of); err != nil {
		return err
	}
	if want := of.Spec.Names.Plural + "." + of.Spec.Group; object.GetName() != want {
		return fmt.Errorf("its name must be %q", want)
	}
	for _, version := range of.Spec.Versions {
		if !version.Served {
			continue
		}
		in := schema.GroupVersion{Group: of.Spec.Group, Version: version.Name}
		resource := Resource{
			Name: of.Spec.Names.Plural, Kind: of.Spec.Names.Kind, Namespaced: of.Spec.Scope == "Namespaced",
			Status: version.Subresources.Status != nil,
		}
		described := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
		if raw := version.Schema.OpenAPIV3Schema; raw != nil {
			described = nil
			if err := utiljson.Unmarshal(raw, &described); err != nil {
				return err
			}
		}
		t.byKind[in.WithKind(resource.Kind)] = &Type{GroupVersionResource: in.WithResource(resource.Name),
			Resource: resource, schema: described}
		t.catalog.Resources[in.String()] = append(t.catalog.Resources[in.String()], resource)
		if err := t.publish(in.WithKind(resource.Kind), described); err != nil {
			return err
		}
	}
	return nil
}

// publish adds the schema of a custom resource to the catalog, as a cluster does.
func (t *Types) publish(kind schema.GroupVersionKind, described map[string]any) error {
	published := maps.Clone(described)
	if properties, ok := published["properties"].(map[string]any); ok {
		properties = maps.Clone(properties)
		properties["metadata"] = map[string]any{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
		published["properties"] = properties
	}
	published["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": kind.Group, "version": kind.Version,
		"kind": kind.Kind}}
	raw, err := json.Marshal(published)
	t.catalog.Schemas[kind.Group+"."+kind.Version+"."+kind.Kind] = raw
	return err
}
