// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package statichost

import (
	_ "embed" // for builtInJSON
	"encoding/json"
	"fmt"
)

// builtInJSON are the types of a cluster without CustomResourceDefinitions. A test compares it with a real one, and writes
// it (test/integration/plugin).
//
//go:embed builtin.json
var builtInJSON []byte

// Catalog describes types as a cluster does.
type Catalog struct {
	// Resources are the types by their apiVersion.
	Resources map[string][]Resource `json:"resources"`
	// Schemas are the schemas of their OpenAPI documents by name, with what merging needs of them.
	Schemas map[string]json.RawMessage `json:"schemas"`
}

// Resource is a type.
type Resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced,omitempty"`
	// Status is true if its status is written by itself.
	Status bool `json:"status,omitempty"`
}

// builtIn returns the types of a cluster without CustomResourceDefinitions.
func builtIn() (*Catalog, error) {
	catalog := &Catalog{}
	if err := json.Unmarshal(builtInJSON, catalog); err != nil {
		return nil, fmt.Errorf("read the types of Kubernetes: %w", err)
	}
	return catalog, nil
}
