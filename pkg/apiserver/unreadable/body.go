// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package unreadable

import (
	"reflect"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// InObject returns the mistakes in an object, or in a part of one, that is to be read into a type. The
// body is JSON or YAML. What is neither has no mistakes in its fields. unknownFields says whether
// fields that the type does not have are mistakes.
func InObject(of reflect.Type, body []byte, unknownFields bool) []Mistake {
	var value map[string]any
	if !decode(body, &value) {
		return nil
	}
	r := reader{unknownFields: unknownFields}
	r.readStruct(nil, of, value)
	return r.mistakes
}

// inPatch returns the mistakes in a JSON patch of an object.
func inPatch(of reflect.Type, body []byte, unknownFields bool) []Mistake {
	var operations []struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	if !decode(body, &operations) {
		return nil
	}
	r := reader{unknownFields: unknownFields}
	for _, operation := range operations {
		if operation.Op == "add" || operation.Op == "replace" {
			r.readAt(of, operation.Path, operation.Value)
		}
	}
	return r.mistakes
}

// readAt compares a value with the type of the field at a JSON pointer.
func (r *reader) readAt(of reflect.Type, pointer string, value any) {
	if pointer == "" {
		r.read(nil, of, value)
		return
	}
	var path *field.Path
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if readsItself(of) {
			return // its fields are not those of the Go type
		}
		switch of.Kind() {
		case reflect.Struct:
			fields := fieldsOf(of)
			known, ok := fields[name]
			if !ok {
				if r.unknownFields {
					r.unknown(path, name, fields)
				}
				return
			}
			path, of = path.Child(name), known
		case reflect.Map, reflect.Slice:
			path, of = path.Key(name), of.Elem()
		default:
			return
		}
	}
	r.read(path, of, value)
}

// decode decodes JSON or YAML, and reports whether that succeeded.
func decode(body []byte, into any) bool {
	text, err := yaml.YAMLToJSON(body)
	return err == nil && utiljson.Unmarshal(text, into) == nil
}
