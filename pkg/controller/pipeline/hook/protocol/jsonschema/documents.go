// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

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
