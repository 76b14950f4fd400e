// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// JSONValue is any JSON value: text, a number, true, false, null, a list or an object.
type JSONValue struct {
	// Raw is the JSON of the value.
	Raw []byte `json:"-"`
}

// OpenAPISchemaType tells the generator of OpenAPI documents that the value may be of any type.
func (JSONValue) OpenAPISchemaType() []string { return nil }

// OpenAPISchemaFormat tells the generator that there is no format.
func (JSONValue) OpenAPISchemaFormat() string { return "" }

// MarshalJSON returns the JSON of the value, null if there is none.
func (v JSONValue) MarshalJSON() ([]byte, error) {
	if len(v.Raw) == 0 {
		return []byte("null"), nil
	}
	return v.Raw, nil
}

// UnmarshalJSON keeps the JSON of the value.
func (v *JSONValue) UnmarshalJSON(raw []byte) error {
	v.Raw = append([]byte(nil), raw...)
	return nil
}
