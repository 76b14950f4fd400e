// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// situation is what the cluster shows of a migration.
type situation struct {
	service types.NamespacedName
	// api is the APIService of the API, and imports that of the migration.
	api, imports apiService
	// definitions are those that there are, by resource.
	definitions map[string]definition
}

func (m *Migration) situation(ctx context.Context) (*situation, error) {
	s := &situation{service: m.config.Service, definitions: map[string]definition{}}
	var err error
	if s.api, err = m.getAPIService(ctx, apiServiceName); err != nil {
		return nil, err
	}
	if s.imports, err = m.getAPIService(ctx, ImportsAPIService); err != nil {
		return nil, err
	}
	for _, kind := range kinds() {
		found, err := m.getDefinition(ctx, kind)
		if err != nil {
			return nil, err
		}
		if found.Unstructured != nil {
			s.definitions[kind.resource] = found
		}
	}
	return s, nil
}

// Phase is how far a migration has come.
type Phase string

const (
	// PhaseNothing: there is neither the API nor the definitions.
	PhaseNothing Phase = "Nothing"
	// PhaseOriginal: the definitions serve the API.
	PhaseOriginal Phase = "Original"
	// PhaseCopying: they still do, and this server takes copies.
	PhaseCopying Phase = "Copying"
	// PhaseSwitching: this server serves the API, and the definitions could still take it back.
	PhaseSwitching Phase = "Switching"
	// PhaseHeld: this server serves the API and holds its controllers.
	PhaseHeld Phase = "Held"
	// PhaseRunning: this server's controllers run, and the definitions are still there.
	PhaseRunning Phase = "Running"
	// PhaseFinished: the definitions are gone.
	PhaseFinished Phase = "Finished"
	// PhaseReturning: the definitions serve the API again, and not everything was written into them yet.
	PhaseReturning Phase = "Returning"
	// PhaseForeign: another server serves the API.
	PhaseForeign Phase = "Foreign"
)

func (s *situation) phase() Phase {
	switch {
	case !s.api.exists() && len(s.definitions) == 0:
		return PhaseNothing
	case s.api.service().Name == "" && !s.imports.exists():
		return PhaseOriginal
	case s.api.service().Name == "" && s.imports.isReturning():
		return PhaseReturning
	case s.api.service().Name == "":
		return PhaseCopying
	case !s.leadsHere():
		return PhaseForeign
	case s.definitionsServe():
		return PhaseSwitching
	case s.api.hold() != "" && (len(s.definitions) > 0 || s.imports.exists()):
		return PhaseHeld
	case len(s.definitions) == 0:
		return PhaseFinished
	}
	return PhaseRunning
}

// leadsHere reports whether this server serves the API.
func (s *situation) leadsHere() bool { return s.api.exists() && s.api.service() == s.service }

// definitionsServe reports whether a definition still has the version that everybody uses.
func (s *situation) definitionsServe() bool {
	for _, of := range s.definitions {
		if of.serves(servedVersion) {
			return true
		}
	}
	return false
}

// keeps reports whether there is a definition of a kind that is not being deleted.
func (s *situation) keeps(name string) bool {
	for _, kind := range kinds() {
		if of, found := s.definitions[kind.resource]; found && kind.name == name {
			return of.GetDeletionTimestamp() == nil
		}
	}
	return false
}

// mayCopy returns why nothing can be copied; nil if it can.
func (s *situation) mayCopy() error {
	switch s.phase() {
	case PhaseNothing:
		return fmt.Errorf("there is nothing to migrate: the cluster does not serve %s", group)
	case PhaseReturning:
		return errors.New("the way back is not complete: migrate back completes it")
	case PhaseForeign:
		return fmt.Errorf("the APIService %s leads to the Service %s, not to %s of this server: see --service-name and --service-namespace", apiServiceName, s.api.service(), s.service)
	}
	return s.definitionsFit()
}

// definitionsFit returns why the definitions are not such as can be copied from; nil if they are.
func (s *situation) definitionsFit() error {
	for _, kind := range kinds() {
		of, found := s.definitions[kind.resource]
		if !found {
			continue
		}
		if err := of.fits(kind); err != nil {
			return fmt.Errorf("the CustomResourceDefinition %s: %w", kind.definition(), err)
		}
	}
	return nil
}
