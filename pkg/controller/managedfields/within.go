// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// within returns the fields of a set that a record of what was applied has.
func within(set *fieldpath.Set, record any) *fieldpath.Set {
	result := &fieldpath.Set{}
	for _, element := range elements(set) {
		for _, value := range named(element, record) {
			part := &fieldpath.Set{}
			if set.Members.Has(element) {
				part.Members.Insert(element)
			}
			if below, some := set.Children.Get(element); some {
				if kept := within(below, value); !kept.Empty() {
					*part.Children.Descend(element) = *kept
				}
			}
			result = result.Union(part)
		}
	}
	return result
}

// named are the values of a record that an element of a set may be about: more than
// one if a list item lacks a key that the host has filled in.
func named(element fieldpath.PathElement, record any) []any {
	switch record := record.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return nil
		}
		if value, there := record[*element.FieldName]; there {
			return []any{value}
		}
	case []any:
		if found := items(element, record, exactly); found != nil {
			return found
		}
		return items(element, record, orDefaulted)
	}
	return nil
}

func items(element fieldpath.PathElement, list []any, keys comparison) []any {
	var found []any
	for _, item := range list {
		if identifies(element, item, keys) {
			found = append(found, item)
		}
	}
	return found
}
