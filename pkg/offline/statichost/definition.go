// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

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
			Name: of.Spec.Names.Plural, Kind: of.Spec.Names.Kind, Namespaced: of.Spec.Scope == "Namespaced", Status: version.Subresources.Status != nil,
		}
		described := map[string]any{"x-kubernetes-preserve-unknown-fields": true}
		if raw := version.Schema.OpenAPIV3Schema; raw != nil {
			described = nil
			if err := utiljson.Unmarshal(raw, &described); err != nil {
				return err
			}
		}
		t.byKind[in.WithKind(resource.Kind)] = &Type{GroupVersionResource: in.WithResource(resource.Name), Resource: resource, schema: described}
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
	published["x-kubernetes-group-version-kind"] = []any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}}
	raw, err := json.Marshal(published)
	t.catalog.Schemas[kind.Group+"."+kind.Version+"."+kind.Kind] = raw
	return err
}
