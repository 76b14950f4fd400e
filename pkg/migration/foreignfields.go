// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json" // integers stay integers
)

// ForeignFieldsAnnotation is on objects in the definitions that had fields here which the definitions do not have. Its value is
// a list of them, so that they are back when the object is copied again.
const ForeignFieldsAnnotation = group + "/fields-of-metacontroller-apiserver"

// foreignField is a field that a definition does not have.
type foreignField struct {
	// Path leads to it: names, and numbers of items.
	Path  []string `json:"path"`
	Value any      `json:"value"`
}

// String returns the path as people write it.
func (f foreignField) String() string {
	text := ""
	for i, part := range f.Path {
		switch _, err := strconv.Atoi(part); {
		case err == nil:
			text += "[" + part + "]"
		case i == 0:
			text += part
		default:
			text += "." + part
		}
	}
	return text
}

// takeForeign removes from an object the fields that the schema of its definition does not have, and returns them.
func takeForeign(of *unstructured.Unstructured, schema map[string]any) (taken []foreignField) {
	for name, value := range of.Object {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
		default:
			if isForeign := takeFrom(of.Object, name, value, schema, nil, &taken); isForeign {
				delete(of.Object, name)
			}
		}
	}
	slices.SortFunc(taken, func(a, b foreignField) int { return slices.Compare(a.Path, b.Path) })
	return taken
}

// takeFrom takes what a schema does not have from a field of an object. It reports whether that is the whole field.
func takeFrom(_ map[string]any, name string, value any, of map[string]any, path []string, taken *[]foreignField) (isForeign bool) {
	path = append(slices.Clone(path), name)
	schema, known := property(of, name)
	if !known {
		*taken = append(*taken, foreignField{path, value})
		return true
	}
	takeWithin(value, schema, path, taken)
	return false
}

func takeWithin(value any, schema map[string]any, path []string, taken *[]foreignField) {
	if schema["x-kubernetes-preserve-unknown-fields"] == true {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name, item := range value {
			if takeFrom(value, name, item, schema, path, taken) {
				delete(value, name)
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range value {
			takeWithin(item, items, append(slices.Clone(path), strconv.Itoa(i)), taken)
		}
	}
}

// property returns the schema of a field, and reports whether there is such a field.
func property(schema map[string]any, name string) (map[string]any, bool) {
	if properties, ok := schema["properties"].(map[string]any); ok {
		if of, ok := properties[name].(map[string]any); ok {
			return of, true
		}
	}
	if additional, ok := schema["additionalProperties"].(map[string]any); ok {
		return additional, true
	}
	return nil, schema["additionalProperties"] == true || schema["x-kubernetes-preserve-unknown-fields"] == true
}

// schema returns the schema of the objects of a definition.
func (d definition) schema() map[string]any {
	schema, _, _ := unstructured.NestedFieldNoCopy(d.version(servedVersion), "schema", "openAPIV3Schema")
	read, _ := schema.(map[string]any)
	return read
}

// export returns an object of this server as it is stored in a definition, and the fields that the definition does not have.
func export(of *unstructured.Unstructured, in definition) (*unstructured.Unstructured, []foreignField, error) {
	exported := of.DeepCopy()
	exported.SetAPIVersion(group + "/" + copyVersion)
	exported.SetResourceVersion("")
	exported.SetManagedFields(nil)
	delete(exported.Object, "status")
	// Metacontroller would not remove it, and the object could never be deleted.
	finalizers := withoutDrain(exported.GetFinalizers())
	if exported.SetFinalizers(nil); len(finalizers) > 0 {
		exported.SetFinalizers(finalizers)
	}
	foreign := takeForeign(exported, in.schema())
	if len(foreign) > 0 {
		value, err := json.Marshal(foreign)
		if err != nil {
			return nil, nil, err
		}
		annotations := orEmpty(exported.GetAnnotations())
		annotations[ForeignFieldsAnnotation] = string(value)
		exported.SetAnnotations(annotations)
	}
	return exported, foreign, nil
}

// restore puts the fields back that export took, and removes the annotation.
func restore(of *unstructured.Unstructured) error {
	annotations := of.GetAnnotations()
	value, found := annotations[ForeignFieldsAnnotation]
	if !found {
		return nil
	}
	var foreign []foreignField
	if err := json.Unmarshal([]byte(value), &foreign); err != nil {
		return fmt.Errorf("read the annotation %s: %w", ForeignFieldsAnnotation, err)
	}
	for _, field := range foreign {
		put(of.Object, field.Path, field.Value)
	}
	delete(annotations, ForeignFieldsAnnotation)
	if of.SetAnnotations(nil); len(annotations) > 0 {
		of.SetAnnotations(annotations)
	}
	return nil
}

// put sets a field if what it is in is still there. Numbers become integers again where they are.
func put(in any, path []string, value any) {
	switch in := in.(type) {
	case map[string]any:
		if len(path) == 1 {
			if _, exists := in[path[0]]; !exists {
				in[path[0]] = value
			}
			return
		}
		put(in[path[0]], path[1:], value)
	case []any:
		if index, err := strconv.Atoi(path[0]); err == nil && index < len(in) && len(path) > 1 {
			put(in[index], path[1:], value)
		}
	}
}
