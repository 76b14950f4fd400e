// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

type (
	object  = scenario.Object
	ref     = scenario.Ref
	answers = map[string]func(asked object) object
)

// list is a JSON array.
type list = []any

// things are parents that bring a selector of their own, or $SPEC, with ConfigMaps as children that are updated in place.
const things = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Thing, resource: things}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  hooks: {sync: {webhook: {url: $HOOK/sync}}}
`

// aThing is a parent of the controller of things.
const aThing = `
apiVersion: $Thing
kind: Thing
metadata: {name: a, namespace: $NAMESPACE}
`

// theThing and itself are what these manifests create.
var (
	theThing = ref{APIVersion: "$Thing", Kind: "Thing", Namespace: "$NAMESPACE", Name: "a"}
	itself   = ref{APIVersion: "metacontroller.k8s.io/v1alpha1", Kind: "CompositeController", Name: "$NAME"}
)

// inBothEngines runs a test with each way of writing children: what it tells holds in either.
func inBothEngines(t *testing.T, test func(t *testing.T, s *scenario.Scenario)) {
	t.Helper()
	t.Parallel()
	for _, engine := range scenario.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := scenario.New(t, env)
			s.Engine = engine
			test(t, s)
		})
	}
}

// withThings is a scenario in which the kind Thing is defined and the sync hook answers.
func withThings(t *testing.T, sync func(asked object) object) *scenario.Scenario {
	t.Helper()
	s := scenario.New(t, env)
	s.Define(harness.CRD{Kind: "Thing"})
	s.Answers(answers{"/sync": sync})
	return s
}

// configMap is a ConfigMap of the test's namespace.
func configMap(name string) ref {
	return ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "$NAMESPACE", Name: name}
}

// desired is a ConfigMap as hooks answer it.
func desired(name string, data object) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}, "data": data}
}

// at reads a field of a request, nil if it is not there.
func at(asked object, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(asked, path...)
	if err != nil {
		return nil
	}
	return value
}
