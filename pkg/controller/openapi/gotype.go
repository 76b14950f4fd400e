// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"reflect"
	"strings"
)

// Types that are built into the host are decoded into Go types. Of a field without a
// pointer these cannot tell whether it was sent with its zero value or not at all,
// and what the host sends back leaves most such fields out. Custom resources are kept
// as they were sent, but for their metadata.

// fieldOf is the Go type of a struct's field by its name in JSON; nil if there is no
// such field or the type is no struct.
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

// elementOf is the Go type of the items of a list or the values of a map; nil if the
// type is neither.
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
