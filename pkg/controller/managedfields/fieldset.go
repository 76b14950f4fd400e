// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package managedfields reads and rewrites what the host records in
// metadata.managedFields: who owns which fields of an object. It needs no schema: what
// identifies the items of a list stands in the record.
package managedfields

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Extract returns the part of an object that a set of fields names, which is what
// their owner has applied if nobody has changed it since. The fields are in the form
// fieldsV1 of managedFields; without any, nothing is extracted. The result shares
// values with content.
func Extract(fields []byte, content map[string]any) (map[string]any, error) {
	if fields == nil {
		return map[string]any{}, nil
	}
	set, err := decode(fields)
	if err != nil {
		return nil, err
	}
	return extract(set, content).(map[string]any), nil
}

func decode(fields []byte) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(fields)); err != nil {
		return nil, fmt.Errorf("read managed fields: %w", err)
	}
	return set, nil
}

func extract(set *fieldpath.Set, from any) any {
	switch from := from.(type) {
	case map[string]any:
		result := map[string]any{}
		for name, value := range from {
			if part, owned := extractElement(set, fieldpath.FieldNameElement(name), value); owned {
				result[name] = part
			}
		}
		return result
	case []any:
		result := []any{}
		for _, item := range from {
			for _, element := range elements(set) {
				if !identifies(element, item, exactly) {
					continue
				}
				if part, owned := extractElement(set, element, item); owned {
					result = append(result, part)
				}
				break
			}
		}
		return result
	default:
		return from
	}
}

// extractElement returns what the set names of one field or list item. Of one that is
// named itself and nothing below, it names all.
func extractElement(set *fieldpath.Set, element fieldpath.PathElement, from any) (part any, owned bool) {
	below, some := set.Children.Get(element)
	if some {
		return extract(below, from), true
	}
	return from, set.Members.Has(element)
}

// elements are the fields or list items that a set names at its top.
func elements(set *fieldpath.Set) []fieldpath.PathElement {
	var elements []fieldpath.PathElement
	for element := range set.Members.All() {
		elements = append(elements, element)
	}
	for element := range set.Children.All() {
		if !set.Members.Has(element) {
			elements = append(elements, element)
		}
	}
	return elements
}

// comparison says how the keys of a list item are compared.
type comparison bool

const (
	// exactly: the item has all keys.
	exactly comparison = false
	// orDefaulted: a key that the item lacks is one that the host has filled in.
	orDefaulted comparison = true
)

// identifies tells whether an element of a set is about an item of a list.
func identifies(element fieldpath.PathElement, item any, keys comparison) bool {
	switch {
	case element.Value != nil:
		return value.Equals(*element.Value, value.NewValueInterface(item))
	case element.Key != nil:
		fields, ok := item.(map[string]any)
		if !ok {
			return false
		}
		for _, key := range *element.Key {
			have, there := fields[key.Name]
			if !there && keys == orDefaulted {
				continue
			}
			if !there || !value.Equals(key.Value, value.NewValueInterface(have)) {
				return false
			}
		}
		return true
	default:
		return false // an index says nothing about which item it was
	}
}
