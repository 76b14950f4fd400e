// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// UnknownField is a field of a value that the type of the value does not have.
type UnknownField struct {
	// Path leads to the field, such as "spec.template.spec.containers[0].imagee".
	Path string
	// Meant is the path of the field that was probably meant; empty if no known one has nearly that
	// name.
	Meant string
}

// UnknownFields returns the fields of a JSON value that its type does not have, so that the host drops
// them. Of a field that is unknown as a whole, it does not return the fields below. Of a field that is
// unknown in several items of a list, it returns the first. Of very many, it returns the first ones.
func (t *Type) UnknownFields(value []byte) []UnknownField {
	if t == nil || t.hasAllFields(value) {
		return nil
	}
	return t.searchUnknown(value)
}

// maxUnknown is how many unknown fields of one value are found. They are kept as long as the value is.
const maxUnknown = 20

func (t *Type) searchUnknown(value []byte) (unknown []UnknownField) {
	found := map[string]bool{}
	// What was found before the value turns out to be no JSON is right all the same.
	_ = object.Walk(value, t, func(of *Type, name []byte, path func() string) (*Type, bool) {
		if of.lacks(name) {
			if len(unknown) >= maxUnknown {
				return nil, false
			}
			at := path()
			if place := WithoutIndexes(at); !found[place] {
				found[place] = true
				unknown = append(unknown, UnknownField{Path: at, Meant: of.meant(at, string(name))})
			}
			return nil, false
		}
		below := of.values
		if known, ok := of.fields[string(name)]; ok {
			below = known.of
		}
		return below, below.isStructured()
	}, func(of *Type) (*Type, bool) { return of.items, of.items.isStructured() })
	return unknown
}

// WithoutIndexes returns the path of a field with "[]" in place of each index of an item, such as
// "spec.containers[].image".
func WithoutIndexes(path string) string {
	var kept strings.Builder
	for {
		before, after, found := strings.Cut(path, "[")
		kept.WriteString(before)
		if !found {
			return kept.String()
		}
		kept.WriteString("[]")
		_, path, _ = strings.Cut(after, "]")
	}
}

// lacks reports whether an object has no field of that name and may not have it.
func (t *Type) lacks(name []byte) bool {
	if t.fields == nil || t.open {
		return false
	}
	if _, known := t.fields[string(name)]; known {
		return false
	}
	return !t.resource || !slices.Contains(resourceFields[:], string(name))
}

// resourceFields are the fields that every resource has, whether its schema has them or not.
var resourceFields = [...]string{"apiVersion", "kind", "metadata"}

// isStructured reports whether anything is known of what is below a value.
func (t *Type) isStructured() bool {
	return t != nil && (t.fields != nil || t.values != nil || t.items != nil)
}
