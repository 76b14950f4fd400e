// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"
)

// JSON returns a value as JSON.
func JSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FromYAML reads an object from YAML.
func FromYAML(t testing.TB, text string) Object {
	t.Helper()
	var object Object
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return object
}
