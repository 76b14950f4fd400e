// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// split returns the field names of a dotted path. A field with a dot in its name has no path.
func split(path string) []string { return strings.Split(path, ".") }

// field returns the raw JSON at a path, nil if there is none. Everything that the path leads
// through must be an object.
func field(raw []byte, path []string) ([]byte, error) {
	for i, name := range path {
		switch {
		case i > 0 && string(raw) == "null":
			return nil, nil
		case i > 0 && raw[0] != '{':
			return nil, notAnObject(path[:i])
		}
		if raw = object.Lookup(raw, name); raw == nil {
			return nil, nil
		}
	}
	return raw, nil
}

// withField returns raw with the field at a path set, or without the field if value is nil.
// It decodes nothing but the objects that the path leads through.
func withField(raw []byte, path []string, value []byte) ([]byte, error) {
	if len(path) > 1 {
		below := object.Lookup(raw, path[0])
		switch {
		case below != nil && string(below) != "null":
			if below[0] != '{' {
				return nil, notAnObject(path[:1])
			}
		case value == nil:
			return raw, nil
		default:
			below = []byte("{}")
		}
		var err error
		if value, err = withField(below, path[1:], value); err != nil {
			return nil, err
		}
	}
	return object.WithMember(raw, path[0], value)
}

func notAnObject(path []string) error {
	return fmt.Errorf("its field %s is no object", strings.Join(path, "."))
}
