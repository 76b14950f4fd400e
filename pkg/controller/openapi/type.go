// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openapi knows of a type of the host what comparing and merging its objects
// takes, and no more: how its lists are merged, which of its values are quantities,
// and which fields the host does not keep. It is read from what the host publishes.
package openapi

// Type is what is known of a value. Of nil, nothing is: all methods may be called.
type Type struct {
	// quantity tells that the value is a quantity.
	quantity bool
	// list is how the value, a list, is merged, and keys are what identifies its items
	// if that is Map.
	list List
	keys []Key
	// items is the type of a list's items.
	items *Type

	fields map[string]field
	// open tells that an object may have other fields than these.
	open bool
	// values is the type of an object's other fields.
	values *Type
}

// List is how lists are merged.
type List string

const (
	// Unknown is a list of which the host does not say how it is merged.
	Unknown List = ""
	// Atomic lists are replaced as a whole.
	Atomic List = "atomic"
	// Set lists hold each value once, whoever put it in.
	Set List = "set"
	// Map lists hold objects that are identified by some of their fields.
	Map List = "map"
)

// Key is a field that identifies an item of a list.
type Key struct {
	Name string
	// Default is what counts where an item does not have the field.
	Default any
}

// field is a field of an object.
type field struct {
	of *Type
	// unset tells that the field's zero value is the same as no value.
	unset bool
}

// Field is the type of an object's field.
func (t *Type) Field(name string) *Type {
	if t == nil {
		return nil
	}
	if known, ok := t.fields[name]; ok {
		return known.of
	}
	return t.values
}

// Items is the type of a list's items.
func (t *Type) Items() *Type {
	if t == nil {
		return nil
	}
	return t.items
}

// List is how a list is merged.
func (t *Type) List() List {
	if t == nil {
		return Unknown
	}
	return t.list
}

// Keys are what identifies the items of a list that is a Map.
func (t *Type) Keys() []Key {
	if t == nil {
		return nil
	}
	return t.keys
}

// IsQuantity tells whether the value is a quantity, which can be written in many ways:
// 1000m is 1.
func (t *Type) IsQuantity() bool { return t != nil && t.quantity }

// Drops tells whether the host leaves a field out of an object if it is sent with
// this value: because the type has no such field, or because the value is the one
// that stands for none.
func (t *Type) Drops(name string, value any) bool {
	if t == nil || value == nil {
		return value == nil
	}
	known, ok := t.fields[name]
	if !ok {
		return t.fields != nil && !t.open && t.values == nil
	}
	return known.unset && known.of.isZero(value)
}

// isZero tells whether the value of a field without a pointer is what the field holds
// if it is not set.
func (t *Type) isZero(value any) bool {
	switch value := value.(type) {
	case bool:
		return !value
	case string:
		return value == ""
	case int64:
		return value == 0
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	case map[string]any:
		return t.isZeroObject(value)
	}
	return value == nil
}

// isZeroObject tells a map that is empty, and an object that holds nothing.
func (t *Type) isZeroObject(value map[string]any) bool {
	if t == nil || t.fields == nil {
		return len(value) == 0
	}
	for name, below := range value {
		if !t.Drops(name, below) {
			return false
		}
	}
	return true
}
