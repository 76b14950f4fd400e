// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

// Type is the known schema of a value. A nil Type stands for a value without a known schema; all methods may be called
// on it.
type Type struct {
	// kind is the JSON kind of the value, such as "integer"; empty if there may be several.
	kind string
	// quantity is true if the value is a quantity.
	quantity bool
	// list says how a list is merged. keys are the fields that identify its items if list is Map.
	list List
	keys []Key
	// items is the type of a list's items.
	items *Type

	// fields are the declared fields of an object.
	fields map[string]field
	// open is true if an object may have other fields, too.
	open bool
	// values is the type of an object's other fields.
	values *Type
	// resource is true if an object is a complete resource, alone or within another.
	resource bool
}

// List is how lists are merged.
type List string

const (
	// Unknown lists are those for which the host does not say how they are merged.
	Unknown List = ""
	// Atomic lists are replaced as a whole.
	Atomic List = "atomic"
	// Set lists have each value once. Several writers may own a value.
	Set List = "set"
	// Map lists have objects that some of their fields identify.
	Map List = "map"
)

// Key is a field that identifies an item of a list.
type Key struct {
	Name string
	// Default is the value of an item that does not have the field.
	Default any
}

// field is a field of an object.
type field struct {
	of *Type
	// unset is true if the field's zero value means the same as a missing value.
	unset bool
}

// Field returns the type of an object's field.
func (t *Type) Field(name string) *Type {
	if t == nil {
		return nil
	}
	if known, ok := t.fields[name]; ok {
		return known.of
	}
	return t.values
}

// Items returns the type of a list's items.
func (t *Type) Items() *Type {
	if t == nil {
		return nil
	}
	return t.items
}

// Each returns the type of all items of a list, or of all fields of an object without declared fields.
func (t *Type) Each() *Type {
	if t == nil || t.fields != nil {
		return nil
	}
	if t.items != nil {
		return t.items
	}
	return t.values
}

// Kind returns the JSON kind of the value, such as "integer"; empty if there may be several, or none is known.
func (t *Type) Kind() string {
	if t == nil {
		return ""
	}
	return t.kind
}

// List returns how a list is merged.
func (t *Type) List() List {
	if t == nil {
		return Unknown
	}
	return t.list
}

// Keys returns the fields that identify the items of a Map list.
func (t *Type) Keys() []Key {
	if t == nil {
		return nil
	}
	return t.keys
}

// IsQuantity reports whether the value is a quantity. Quantities can be written in many ways: 1000m
// is 1.
func (t *Type) IsQuantity() bool { return t != nil && t.quantity }

// Drops reports whether the host drops a field with this value, because the type has no such field, or because
// the value means the same as a missing one.
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

// isZero reports whether a value is the zero value of a Go field that is not a pointer.
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

// isZeroObject reports whether a map is empty, or the host drops all fields of an object.
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
