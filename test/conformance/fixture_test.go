// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

type (
	object  = scenario.Object
	ref     = scenario.Ref
	answers = scenario.Answers
)

// list is a JSON array.
type list = []any

// things is a controller of things. Its words are those of defaults.
const things = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $CONTROLLER}
spec:
  generateSelector: $GENERATE
  parentResource: {apiVersion: $Thing, resource: things, $SELECTOR}
  childResources:
  - {$CHILD, updateStrategy: {method: $METHOD}}
  hooks: {sync: {webhook: {$WEBHOOK}}, $HOOKS}
`

// defaults are the meanings of the words of things, unless a test says otherwise: the children are
// ConfigMaps that are updated in place, found by a generated selector.
var defaults = map[string]string{
	"$CONTROLLER": "$NAME",
	"$GENERATE":   "true",
	"$SELECTOR":   "",
	"$CHILD":      "apiVersion: v1, resource: configmaps",
	"$METHOD":     "InPlace",
	"$WEBHOOK":    "url: $HOOK/sync",
	"$HOOKS":      "",
}

// newScenario is a scenario that knows the words of things.
func newScenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	s := scenario.New(t, env)
	for word, meaning := range defaults {
		s.Say(word, meaning)
	}
	return s
}

// aThing is a parent of the controller of things.
const aThing = `
apiVersion: $Thing
kind: Thing
metadata: {name: a, namespace: $NAMESPACE}
`

// theThing and itself are what these manifests create.
var (
	theThing      = ref{APIVersion: "$Thing", Kind: "Thing", Namespace: "$NAMESPACE", Name: "a"}
	theController = ref{APIVersion: "metacontroller.k8s.io/v1alpha1", Kind: "CompositeController", Name: "$NAME"}
)

// underBothEngines runs a test once with each engine.
func underBothEngines(t *testing.T, test func(t *testing.T, s *scenario.Scenario)) {
	t.Helper()
	t.Parallel()
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newScenario(t)
			s.Engine = engine
			test(t, s)
		})
	}
}

// withThings is a scenario in which the kind Thing is defined and the sync hook answers.
func withThings(t *testing.T, sync func(asked object) object) *scenario.Scenario {
	t.Helper()
	s := newScenario(t)
	s.Define(harness.CRD{Kind: "Thing"})
	s.Answers(answers{"/sync": sync})
	return s
}
