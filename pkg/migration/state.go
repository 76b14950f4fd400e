// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

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
	// service is the APIService; nil if there is none.
	service     *unstructured.Unstructured
	definitions []definition
	// frozen is true if the policy exists.
	frozen bool
	// side is the authoritative side.
	side side
	// leadsHere is true if the APIService leads to this server.
	leadsHere bool
}

// state reads the progress of the migration.
func (m *Migration) state(ctx context.Context) (*state, error) {
	s := &state{}
	var err error
	if s.service, err = m.get(ctx, apiServices(), apiServiceName); err != nil {
		return nil, err
	}
	for _, kind := range kinds() {
		found, err := m.get(ctx, definitions(), kind.definition())
		if err != nil {
			return nil, err
		}
		if found != nil {
			s.definitions = append(s.definitions, definition{found})
		}
	}
	policy, err := m.get(ctx, policies(), policyName)
	if err != nil {
		return nil, err
	}
	s.frozen = policy != nil
	return s, s.interpret(m.config.Service)
}

// interpret derives the rest of the state. It returns an error if the authoritative side is unknown.
func (s *state) interpret(server types.NamespacedName) error {
	leadsTo := types.NamespacedName{}
	if s.service != nil {
		leadsTo.Namespace, _, _ = unstructured.NestedString(s.service.Object, "spec", "service", "namespace")
		leadsTo.Name, _, _ = unstructured.NestedString(s.service.Object, "spec", "service", "name")
	}
	s.leadsHere = leadsTo == server
	s.side = s.counts()
	switch {
	case leadsTo.Name != "" && !s.leadsHere:
		return fmt.Errorf("the APIService %s refers to the Service %s, not to %s: see --service-name and --service-namespace",
			apiServiceName, leadsTo, server)
	case s.service == nil && !s.frozen && slices.ContainsFunc(s.definitions, definition.isHidden):
		return fmt.Errorf("APIService %s not found, and the CustomResourceDefinitions do not serve the API: their objects "+
			"have been moved to a server. Apply the APIService of the server again", apiServiceName)
	}
	return nil
}

// counts returns the authoritative side. Steps note it on the APIService of the server. Without a note, the server was
// installed by other means, maybe over definitions.
func (s *state) counts() side {
	switch {
	case !s.leadsHere && len(s.definitions) == 0:
		return nowhere
	case !s.leadsHere:
		return inDefinitions
	}
	switch s.service.GetAnnotations()[v1alpha1.MovedAnnotation] {
	case "true":
		return inServer
	case "false":
		return inDefinitions
	}
	hidden := func(of definition) bool { return registration.HidesObjects(s.service, of.Unstructured) }
	if slices.ContainsFunc(s.definitions, hidden) {
		return inDefinitions
	}
	return inServer
}

// isInterrupted reports whether a step has begun and not finished. The policy shows that or, if a user has deleted it,
// the hold of the controllers.
func (s *state) isInterrupted() bool {
	return s.frozen || s.leadsHere && s.service.GetAnnotations()[v1alpha1.HoldAnnotation] == holdReason
}

// describe returns the progress of the migration, and the next step.
func (s *state) describe() (is, next string) {
	switch {
	case s.side == nowhere:
		return "The cluster does not serve the API.", "nothing; install the server"
	case s.isInterrupted():
		is = fmt.Sprintf("A step is not complete. The objects of the %s are authoritative.", s.side)
		if s.frozen {
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
