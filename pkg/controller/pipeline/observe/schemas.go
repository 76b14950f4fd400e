// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Schemas are what the host publishes of the child types. A nil one knows nothing.
type Schemas struct {
	mu    sync.RWMutex
	known map[pipeline.Type]*openapi.Type
}

// NewSchemas starts with what is known.
func NewSchemas(known map[pipeline.Type]*openapi.Type) *Schemas {
	return &Schemas{known: maps.Clone(known)}
}

// Update takes in what the host publishes by now. What it does not tell of a type
// leaves what was known.
func (s *Schemas) Update(published map[pipeline.Type]*openapi.Type) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[pipeline.Type]*openapi.Type{}
	}
	maps.Copy(s.known, published)
}

func (s *Schemas) of(of pipeline.Type) *openapi.Type {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[of]
}
