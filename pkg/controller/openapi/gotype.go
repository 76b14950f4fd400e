// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"reflect"
	"strings"
)

// The host decodes its built-in types into Go types. In these, a field without a pointer that was sent
// with its zero value looks like one that was not sent, and the host leaves most such fields out of
// what it returns. Custom resources stay as they were sent, except for their metadata.

// fieldOf returns the Go type of a struct's field by its name in JSON; nil if there is no such field or
// the type is no struct.
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

// elementOf returns the Go type of the items of a list or the values of a map; nil if the type is
// neither.
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
