// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Read reads the types of some kinds from an OpenAPI v3 document of their group and version. A kind that the
// document does not describe has no entry. goType returns the Go type into which the host decodes a kind; nil
// if it has none. Only the Go type shows which zero values the host drops.
func Read(
	document []byte, goType func(schema.GroupVersionKind) reflect.Type, kinds ...schema.GroupVersionKind,
) (map[schema.GroupVersionKind]*Type, error) {
	r := reader{schemas: map[string][]byte{}, types: map[typeKey]*Type{}, leaves: map[string]*Type{}}
	names := map[schema.GroupVersionKind]string{}
	schemas := object.Lookup(document, "components", "schemas")
	if schemas == nil {
		return nil, errors.New("the document has no components.schemas")
	}
	err := object.Members(schemas, func(name string, raw []byte) error {
		r.schemas[name] = raw
		var published []schema.GroupVersionKind
		if raw := object.Lookup(raw, "x-kubernetes-group-version-kind"); raw != nil {
			if err := json.Unmarshal(raw, &published); err != nil {
				return fmt.Errorf("%s: x-kubernetes-group-version-kind: %w", name, err)
			}
		}
		for _, kind := range published {
			names[kind] = name
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	types := map[schema.GroupVersionKind]*Type{}
	for _, kind := range kinds {
		if name, ok := names[kind]; ok {
			if types[kind], err = r.named(name, goType(kind)); err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			if types[kind] != nil {
				types[kind].resource = true
			}
		}
	}
	return types, nil
}

// reader makes types from the schemas of a document. A schema becomes one type even if several schemas, or
// itself, refer to it.
type reader struct {
	schemas map[string][]byte
	types   map[typeKey]*Type
	// leaves are the types of values that are neither objects nor lists with a schema, by their kinds.
	leaves map[string]*Type
}

type typeKey struct {
	name   string
	goType reflect.Type
}

// node is the part of a schema that is used.
type node struct {
	Ref                  string          `json:"$ref"`
	Type                 any             `json:"type"`
	Format               string          `json:"format"`
	OneOf                json.RawMessage `json:"oneOf"`
	AnyOf                json.RawMessage `json:"anyOf"`
	IntOrString          bool            `json:"x-kubernetes-int-or-string"`
	AllOf                []node          `json:"allOf"`
	Properties           map[string]node `json:"properties"`
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
	Items                *node           `json:"items"`
	Default              json.RawMessage `json:"default"`
	Preserve             bool            `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded             bool            `json:"x-kubernetes-embedded-resource"`
	ListType             List            `json:"x-kubernetes-list-type"`
	ListMapKeys          []string        `json:"x-kubernetes-list-map-keys"`
	PatchMergeKey        string          `json:"x-kubernetes-patch-merge-key"`
	PatchStrategy        string          `json:"x-kubernetes-patch-strategy"`
}

const (
	refPrefix      = "#/components/schemas/"
	quantitySuffix = ".apimachinery.pkg.api.resource.Quantity"
	metadataSuffix = ".apimachinery.pkg.apis.meta.v1.ObjectMeta"
)

// named returns the type of the schema with that name; nil if it says nothing about its values.
func (r *reader) named(name string, goType reflect.Type) (*Type, error) {
	if strings.HasSuffix(name, quantitySuffix) {
		return &Type{quantity: true}, nil
	}
	if strings.HasSuffix(name, metadataSuffix) {
		goType = reflect.TypeFor[metav1.ObjectMeta]() // also for custom resources
	}
	key := typeKey{name, goType}
	if known, ok := r.types[key]; ok {
		return known, nil
	}
	var n node
	if err := json.Unmarshal(r.schemas[name], &n); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	if n.isLeaf() {
		return r.leaf(&n), nil
	}
	made := &Type{}
	r.types[key] = made
	if err := r.fill(made, &n, goType); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return made, nil
}

// typeOf returns the type of a schema; nil if it says nothing about its values.
func (r *reader) typeOf(n *node, goType reflect.Type) (*Type, error) {
	if n == nil {
		return nil, nil
	}
	if ref := n.ref(); ref != "" {
		return r.named(strings.TrimPrefix(ref, refPrefix), goType)
	}
	if n.isLeaf() {
		return r.leaf(n), nil
	}
	made := &Type{}
	return made, r.fill(made, n, goType)
}

// ref returns the reference of the schema; empty if there is none. A reference with a description or a default
// is the only item of an allOf.
func (n *node) ref() string {
	if n.Ref == "" && len(n.AllOf) == 1 {
		return n.AllOf[0].Ref
	}
	return n.Ref
}

// isLeaf reports whether the schema describes neither an object nor a list.
func (n *node) isLeaf() bool {
	return n.Items == nil && n.Properties == nil && n.AdditionalProperties == nil
}

// leaf returns the type of a leaf schema; nil if its values may be of several kinds.
func (r *reader) leaf(n *node) *Type {
	kind := n.kind()
	if kind != "" && r.leaves[kind] == nil {
		r.leaves[kind] = &Type{kind: kind}
	}
	return r.leaves[kind]
}

// kind returns the JSON kind of the values; empty if there may be several.
func (n *node) kind() string {
	if n.OneOf != nil || n.AnyOf != nil || n.IntOrString || n.Format == "int-or-string" {
		return ""
	}
	kind, _ := n.Type.(string)
	return kind
}

// fill reads a schema into a type.
func (r *reader) fill(t *Type, n *node, goType reflect.Type) (err error) {
	t.kind, t.open, t.resource = n.kind(), n.Preserve, n.Embedded
	if n.Properties != nil {
		t.fields = make(map[string]field, len(n.Properties))
	}
	for name, property := range n.Properties {
		goField := fieldOf(goType, name)
		of, err := r.typeOf(&property, goField)
		if err != nil {
			return err
		}
		t.fields[name] = field{of: of, unset: goField != nil && goField.Kind() != reflect.Pointer}
	}
	if err := r.fillValues(t, n, goType); err != nil {
		return err
	}
	if n.Items == nil {
		return nil
	}
	if t.items, err = r.typeOf(n.Items, elementOf(goType)); err != nil {
		return err
	}
	return r.fillList(t, n)
}

// fillValues reads which fields an object may have besides its properties: any, none, or those with values of
// one schema.
func (r *reader) fillValues(t *Type, n *node, goType reflect.Type) (err error) {
	switch raw := bytes.TrimSpace(n.AdditionalProperties); {
	case len(raw) == 0 || bytes.Equal(raw, []byte("false")):
		return nil
	case bytes.Equal(raw, []byte("true")):
		t.open = true
		return nil
	default:
		var values node
		if err := json.Unmarshal(raw, &values); err != nil {
			return fmt.Errorf("additionalProperties: %w", err)
		}
		t.open = true
		t.values, err = r.typeOf(&values, elementOf(goType))
		return err
	}
}

// fillList reads how a list is merged. The extensions for server-side apply take precedence over those for
// strategic merge patches.
func (r *reader) fillList(t *Type, n *node) error {
	merges := slices.Contains(strings.Split(n.PatchStrategy, ","), "merge")
	keys := n.ListMapKeys
	switch {
	case n.ListType != Unknown:
		t.list = n.ListType
	case merges && n.PatchMergeKey != "":
		t.list, keys = Map, []string{n.PatchMergeKey}
	case merges:
		t.list = Set
	}
	if t.list != Map {
		return nil
	}
	defaults, err := r.defaults(n.Items)
	if err != nil {
		return err
	}
	for _, name := range keys {
		t.keys = append(t.keys, Key{Name: name, Default: defaults[name]})
	}
	return nil
}

// defaults returns the defaults of those fields of an item that are neither objects nor lists.
func (r *reader) defaults(items *node) (map[string]any, error) {
	if ref := items.ref(); ref != "" {
		items = &node{}
		if err := json.Unmarshal(r.schemas[strings.TrimPrefix(ref, refPrefix)], items); err != nil {
			return nil, fmt.Errorf("schema %s: %w", ref, err)
		}
	}
	defaults := map[string]any{}
	for name, property := range items.Properties {
		if property.Default == nil || !property.isLeaf() {
			continue
		}
		var value map[string]any
		if err := utiljson.Unmarshal(fmt.Appendf(nil, `{"":%s}`, property.Default), &value); err != nil {
			return nil, fmt.Errorf("default of %s: %w", name, err)
		}
		defaults[name] = value[""]
	}
	return defaults, nil
}

// The host decodes its built-in types into Go types. In these, a field that is not a pointer looks the same
// whether its zero value was sent or nothing, and the host omits most such fields when it returns the object.
// Custom resources stay as they were sent, except for their metadata.

// fieldOf returns the Go type of a struct's field by its name in JSON; nil if there is no such field or the
// type is not a struct.
func fieldOf(t reflect.Type, name string) reflect.Type {
	t = dereferenced(t)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		field := t.Field(i)
		tagged, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case tagged == name && tagged != "":
			return field.Type
		case tagged == "" && field.Anonymous:
			if inlined := fieldOf(field.Type, name); inlined != nil {
				return inlined
			}
		}
	}
	return nil
}

// elementOf returns the Go type of the items of a slice or the values of a map; nil if the type is neither.
func elementOf(t reflect.Type) reflect.Type {
	t = dereferenced(t)
	if t == nil || t.Kind() != reflect.Slice && t.Kind() != reflect.Map {
		return nil
	}
	return t.Elem()
}

func dereferenced(t reflect.Type) reflect.Type {
	if t != nil && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
