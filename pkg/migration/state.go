// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
)

// side is one of the places that store the objects. One side is authoritative; the other has copies or nothing.
type side string

const (
	inDefinitions side = "definitions"
	inServer      side = "server"
	nowhere       side = ""
)

// state is the progress of the migration, as the cluster shows it.
type state struct {
	service     apiService
	definitions map[string]definition
	// policy freezes the objects; nil if there is none.
	policy *unstructured.Unstructured
	// side is the authoritative side.
	side side
	// leadsHere is true if the APIService leads to this server.
	leadsHere bool
}

// state reads the progress of the migration.
func (m *Migration) state(ctx context.Context) (*state, error) {
	s := &state{definitions: map[string]definition{}}
	var err error
	if s.service, err = m.registrar.get(ctx); err != nil {
		return nil, err
	}
	for _, kind := range kinds() {
		found, err := m.definitions.get(ctx, kind)
		if err != nil {
			return nil, err
		}
		if found.Unstructured != nil {
			s.definitions[kind.resource] = found
		}
	}
	if s.policy, err = m.freezer.get(ctx); err != nil {
		return nil, err
	}
	s.leadsHere = s.service.exists() && s.service.leadsTo() == m.config.Service
	s.side = s.counts()
	return s, m.refuseStrange(s)
}

// refuseStrange returns an error if the authoritative side is unknown.
func (m *Migration) refuseStrange(s *state) error {
	if s.service.exists() && s.service.leadsTo().Name != "" && !s.leadsHere {
		return fmt.Errorf("the APIService %s refers to the Service %s, not to %s: see --service-name and --service-namespace",
			apiServiceName, s.service.leadsTo(), m.config.Service)
	}
	if !s.service.exists() && s.policy == nil && !s.serve() {
		return fmt.Errorf("APIService %s not found, and the CustomResourceDefinitions do not serve the API: their objects "+
			"have been moved to a server. Apply the APIService of the server again", apiServiceName)
	}
	return nil
}

// isInterrupted reports whether a step has begun and not finished. The policy shows that or, if a user has deleted it,
// the APIService.
func (s *state) isInterrupted() bool {
	if s.policy != nil || !s.leadsHere {
		return s.policy != nil
	}
	annotations := s.service.GetAnnotations()
	return s.isOpen() && annotations[v1alpha1.HoldAnnotation] != "" && annotations[v1alpha1.MovedAnnotation] == ""
}

// isOpen reports whether a definition has the copyVersion.
func (s *state) isOpen() bool {
	for _, of := range s.definitions {
		if of.version(copyVersion) != nil {
			return true
		}
	}
	return false
}

// counts returns the authoritative side. The policy names it, because a killed step may have left everything else in
// any state. If a user has deleted the policy, the definitions are authoritative if they serve the API: each step
// changes that right after it has changed the policy.
func (s *state) counts() side {
	if s.policy != nil {
		return side(s.policy.GetAnnotations()[countsAnnotation])
	}
	if s.isInterrupted() {
		if s.serve() {
			return inDefinitions
		}
		return inServer
	}
	if !s.leadsHere {
		if len(s.definitions) > 0 {
			return inDefinitions
		}
		return nowhere
	}
	for _, of := range s.definitions {
		if registration.HidesObjects(s.service.Unstructured, of.Unstructured) {
			return inDefinitions
		}
	}
	return inServer
}

// isOriginal reports whether no step was begun, or all were undone.
func (s *state) isOriginal() bool {
	return s.side == inDefinitions && s.policy == nil && !s.leadsHere && !s.isOpen() && s.serve()
}

// serve reports whether all definitions serve the API.
func (s *state) serve() bool {
	for _, of := range s.definitions {
		if !registration.Serves(of.Unstructured, servedVersion) {
			return false
		}
	}
	return true
}

// describe returns the progress of the migration, and what to do next.
func (s *state) describe() (is, next string) {
	switch {
	case s.side == nowhere:
		return "The cluster does not serve the API.", "nothing; install the server"
	case s.isInterrupted():
		is = fmt.Sprintf("A step is not complete. The objects of the %s are authoritative.", s.side)
		if s.policy != nil {
			is += " Until the step is complete, the cluster rejects writes to the API."
		}
		return is, "switch or back"
	case s.side == inDefinitions && s.leadsHere:
		return "The server was installed over Metacontroller's CustomResourceDefinitions. It does not show their objects, " +
			"which are authoritative, and its controllers are held.", "back, or check and switch"
	case s.side == inDefinitions:
		return "The CustomResourceDefinitions serve the API.", "check and switch"
	case len(s.definitions) > 0:
		return "The server serves the API. The CustomResourceDefinitions have the objects " +
			"as they were at the switch.", "finish or back"
	}
	return "The server serves the API. There are no CustomResourceDefinitions.", "nothing; back is possible"
}

// Status reports the progress of the migration.
func (m *Migration) Status(ctx context.Context) error {
	now, err := m.state(ctx)
	if err != nil {
		return err
	}
	is, next := now.describe()
	m.say("%s\nNext: %s", is, next)
	return m.workloads.sayBeside(ctx, now)
}
