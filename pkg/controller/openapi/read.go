// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Read reads the types of some kinds from an OpenAPI v3 document of their group and version. A kind
// that the document does not describe has no entry. goType returns the Go type into which the host
// decodes a kind; nil if it has none. The Go type alone shows which zero values the host drops.
func Read(document []byte, goType func(schema.GroupVersionKind) reflect.Type, kinds ...schema.GroupVersionKind) (map[schema.GroupVersionKind]*Type, error) {
	r := reader{schemas: map[string][]byte{}, types: map[typeKey]*Type{}}
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

// reader makes types from the schemas of a document. A schema that is referred to from several places,
// or from within itself, becomes one type.
type reader struct {
	schemas map[string][]byte
	types   map[typeKey]*Type
}

type typeKey struct {
	name   string
	goType reflect.Type
}

// node is the part of a schema that is used.
type node struct {
	Ref                  string          `json:"$ref"`
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

// named returns the type of the schema of that name; nil if there is nothing to know about it.
func (r *reader) named(name string, goType reflect.Type) (*Type, error) {
	if strings.HasSuffix(name, quantitySuffix) {
		return &Type{quantity: true}, nil
	}
	if strings.HasSuffix(name, metadataSuffix) {
		goType = reflect.TypeFor[metav1.ObjectMeta]() // of custom resources too
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
		return nil, nil
	}
	made := &Type{}
	r.types[key] = made
	if err := r.fill(made, &n, goType); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return made, nil
}

// typeOf returns the type of a schema; nil if there is nothing to know about it.
func (r *reader) typeOf(n *node, goType reflect.Type) (*Type, error) {
	if n == nil {
		return nil, nil
	}
	if ref := n.ref(); ref != "" {
		return r.named(strings.TrimPrefix(ref, refPrefix), goType)
	}
	if n.isLeaf() {
		return nil, nil
	}
	made := &Type{}
	return made, r.fill(made, n, goType)
}

// ref returns what the schema refers to; empty if nothing. A reference with a description or a default
// stands alone in an allOf.
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

// fill reads a schema into a type.
func (r *reader) fill(t *Type, n *node, goType reflect.Type) (err error) {
	t.open, t.resource = n.Preserve, n.Embedded
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

// fillValues reads what an object may have beside its properties: anything, nothing, or values of one
// schema.
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
