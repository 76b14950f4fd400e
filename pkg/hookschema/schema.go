// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hookschema describes the requests to hooks and their answers as JSON Schemas, one for each message of each
// version of the protocol. Expressions of inline hooks can use the request fields in these schemas. A test in
// test/corpus compares the schemas with package protocol.
package hookschema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// dialect is the version of JSON Schema.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a JSON Schema, as far as it is needed here.
type Schema struct {
	Dialect     string `json:"$schema,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Type is a name, or a list of names.
	Type                 any                `json:"type,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	MinLength            int                `json:"minLength,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	MaxItems             int                `json:"maxItems,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	PropertyNames        *Schema            `json:"propertyNames,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // a Schema, or false
	Not                  *Schema            `json:"not,omitempty"`
	AllOf                []*Schema          `json:"allOf,omitempty"`
	Ref                  string             `json:"$ref,omitempty"`
	Definitions          map[string]*Schema `json:"$defs,omitempty"`
	// fields are the names of the fields of a request, in their order.
	fields []string
}

// Fields returns the names of the fields of a request, in their order.
func (s *Schema) Fields() []string { return s.fields }

// object returns the schema of an object with these fields and no others.
func object(description string, properties map[string]*Schema, required ...string) *Schema {
	return &Schema{
		Type: "object", Description: description,
		Properties: properties, Required: required, AdditionalProperties: false,
	}
}

func text(description string) *Schema { return &Schema{Type: "string", Description: description} }

func reference(name, description string) *Schema {
	return &Schema{Ref: "#/$defs/" + name, Description: description}
}

// orNull returns the name of a type whose value may be null, which means the same as no value.
func orNull(name string) []string { return []string{name, "null"} }

// Documents returns all schemas by their names, such as "composite-answer-v2".
func Documents() map[string]*Schema {
	all := map[string]*Schema{"customize-request": CustomizeRequest()}
	for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
		for _, kind := range []Kind{Composite(), Decorator()} {
			all[fmt.Sprintf("%s-request-%s", kind.Name, version)] = Request(kind, version)
			all[fmt.Sprintf("%s-answer-%s", kind.Name, version)] = Answer(kind, version)
		}
		all[fmt.Sprintf("customize-answer-%s", version)] = CustomizeAnswer(version)
	}
	return all
}

// Format returns a schema as JSON to read.
func (s *Schema) Format() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return nil, fmt.Errorf("format a schema: %w", err)
	}
	return text.Bytes(), nil
}
