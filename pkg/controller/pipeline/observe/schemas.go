// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Schemas are the schemas that the host publishes for the child types. A nil Schemas has none. It
// is safe for concurrent use.
type Schemas struct {
	mu    sync.RWMutex
	known map[object.Type]*openapi.Type
}

// NewSchemas returns schemas that begin with the known ones.
func NewSchemas(known map[object.Type]*openapi.Type) *Schemas {
	return &Schemas{known: maps.Clone(known)}
}

// Update replaces the schemas of the types that the host publishes now. Those of other types
// stay.
func (s *Schemas) Update(published map[object.Type]*openapi.Type) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[object.Type]*openapi.Type{}
	}
	maps.Copy(s.known, published)
}

func (s *Schemas) of(of object.Type) *openapi.Type {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[of]
}
