// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// whole returns the schema itself where a document wraps it in another one, to give it a default.
func whole(of *spec.Schema) *spec.Schema {
	for of != nil && len(of.AllOf) == 1 && len(of.Properties) == 0 && of.Items == nil {
		of = &of.AllOf[0]
	}
	return of
}

// follow returns the schema of a field or an item; nil if it is not known. It reports whether there may be such a
// field.
func follow(of *spec.Schema, step string) (next *spec.Schema, known bool) {
	if step == anyItem {
		return itemsOf(whole(of)), true
	}
	return property(of, step)
}

// property returns the schema of a field of an object; nil if it is not known. It reports whether there may be such a
// field. An object without properties may have any.
func property(of *spec.Schema, name string) (next *spec.Schema, known bool) {
	if of = whole(of); of == nil {
		return nil, true
	}
	if next, found := of.Properties[name]; found {
		return &next, true
	}
	if more := of.AdditionalProperties; more != nil && (more.Allows || more.Schema != nil) {
		return more.Schema, true
	}
	preserves, _ := of.Extensions["x-kubernetes-preserve-unknown-fields"].(bool)
	embedded, _ := of.Extensions["x-kubernetes-embedded-resource"].(bool)
	return nil, preserves || embedded || len(of.Properties) == 0
}

func itemsOf(of *spec.Schema) *spec.Schema {
	if of == nil || of.Items == nil {
		return nil
	}
	return of.Items.Schema
}

// meant returns which field was probably meant by another name, as the end of a warning.
func meant(name string, of *spec.Schema) string {
	if of = whole(of); of == nil {
		return ""
	}
	if found := nearest.To(name, slices.Collect(maps.Keys(of.Properties))); found != "" {
		return "; did you mean " + found + "?"
	}
	return ""
}

// pathOf returns steps as a path.
func pathOf(steps []string) string {
	return strings.ReplaceAll(strings.Join(steps, "."), "."+anyItem, anyItem)
}
