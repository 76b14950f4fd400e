// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Extract returns the part of an object that a set of fields names: the configuration that their owner has applied, if
// no other write has changed it. The fields are in the form of fieldsV1. If there are none, the result is empty. It
// shares values with content.
func Extract(fields []byte, content map[string]any) (map[string]any, error) {
	set, err := decode(fields)
	if err != nil {
		return nil, err
	}
	return extract(set, content).(map[string]any), nil
}

var ownerReferences = fieldpath.MakePathOrDie("metadata", "ownerReferences")

// Overlap reports whether two sets of fields, in the form of fieldsV1, have fields in common. It ignores the
// owners of an object, because they are claimed separately from its content. It returns false for sets that
// cannot be read.
func Overlap(a, b []byte) bool {
	x, err := decode(a)
	if err != nil {
		return false
	}
	y, err := decode(b)
	if err != nil {
		return false
	}
	common := false
	x.Intersection(y).Iterate(func(path fieldpath.Path) {
		common = common || len(path) < len(ownerReferences) || !path[:len(ownerReferences)].Equals(ownerReferences)
	})
	return common
}

// decode reads a set of fields in the form fieldsV1. Nil is the empty set.
func decode(fields []byte) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if fields == nil {
		return set, nil
	}
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

// extractElement returns the part of a field or list item that the set names: all of it if the set names the
// element itself and nothing below it.
func extractElement(set *fieldpath.Set, element fieldpath.PathElement, from any) (part any, owned bool) {
	below, some := set.Children.Get(element)
	if some {
		return extract(below, from), true
	}
	return from, set.Members.Has(element)
}

// elements returns the fields or list items at the top level of a set.
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

// comparison is the way to compare the keys of a list item.
type comparison bool

const (
	// exactly: the item has all keys.
	exactly comparison = false
	// orDefaulted: the item may lack keys that the host has defaulted.
	orDefaulted comparison = true
)

// identifies reports whether an element of a set names an item of a list.
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
		return false // an index does not identify an item
	}
}

// Change is the change of the fields that a manager owns by an apply.
type Change struct {
	// Differs is true if the manager owns other fields after the apply.
	Differs bool
	// dropped are the fields that the manager owned and no longer applies. It has only leaves: a field with fields below
	// it may stay for those of others.
	dropped *fieldpath.Set
}

// ChangeOf compares the fields that a manager owns before and after an apply, in the form of fieldsV1. Nil means no
// fields.
func ChangeOf(before, after []byte) (Change, error) {
	had, err := decode(before)
	if err != nil {
		return Change{}, err
	}
	has, err := decode(after)
	if err != nil {
		return Change{}, err
	}
	return Change{Differs: !had.Equals(has), dropped: had.Leaves().Difference(has)}, nil
}

// Drops reports whether the manager no longer applies a field that it owned.
func (c Change) Drops() bool { return !c.dropped.Empty() }

// KeptByOthers reports whether another owner keeps a field in the object that the manager no longer applies. The
// entries come from the object. An apply removes a field without another owner, unless the host defaults it again.
func (c Change) KeptByOthers(manager string, entries []metav1.ManagedFieldsEntry) (bool, error) {
	for _, entry := range entries {
		if owns(entry, manager, metav1.ManagedFieldsOperationApply) {
			continue
		}
		others, err := fieldsOf(entry)
		if err != nil {
			return false, err
		}
		if !others.Leaves().Intersection(c.dropped).Empty() {
			return true, nil
		}
	}
	return false, nil
}
