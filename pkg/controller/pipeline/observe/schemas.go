// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"maps"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// Schemas are the schemas that the host publishes for the types of parents and children. A nil Schemas has none. It
// is safe for concurrent use.
type Schemas struct {
	mu    sync.RWMutex
	known map[object.Type]*openapi.Type
	// version changes when what is known does. It is never zero.
	version uint64
}

// NewSchemas returns schemas that begin with the known ones.
func NewSchemas(known map[object.Type]*openapi.Type) *Schemas {
	return &Schemas{known: maps.Clone(known), version: 1}
}

// Update replaces the schemas of the types that the host publishes now. Those of other types
// stay. Update reports whether any schema is another one than before.
func (s *Schemas) Update(published map[object.Type]*openapi.Type) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[object.Type]*openapi.Type{}
	}
	for of, now := range published {
		changed = changed || s.known[of] != now
		s.known[of] = now
	}
	if changed {
		s.version++
	}
	return changed
}

// currentVersion returns a number that changes with the schemas.
func (s *Schemas) currentVersion() uint64 {
	if s == nil {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version
}

func (s *Schemas) of(of object.Type) *openapi.Type {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[of]
}
