// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/install"
	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const compositeController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: valid}
spec:
  parentResource: {apiVersion: example.com/v1, resource: foos}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: Recreate}}
  - {apiVersion: apps/v1, resource: deployments, updateStrategy: {method: InPlace}}
  hooks: {sync: {webhook: {url: "http://hooks.example/sync"}}}
`

const decoratorController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: valid}
spec:
  resources:
  - {apiVersion: v1, resource: pods}
  attachments:
  - {apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}
  hooks: {sync: {webhook: {url: "http://hooks.example/sync"}}}
`

const controllerRevision = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {name: valid, namespace: ns}
parentPatch: {spec: {image: a}}
children:
- {apiGroup: "", kind: Pod, names: [a, b]}
`

// decode reads an object as the server does: from YAML, with defaults.
func decode[T runtime.Object](t *testing.T, text string) T {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	object, err := runtime.Decode(serializer.NewCodecFactory(scheme).UniversalDecoder(v1alpha1.SchemeGroupVersion), []byte(text))
	if err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
	return object.(T)
}

// patched returns the YAML of an object after a JSON merge patch, written as YAML: maps are merged,
// all else is replaced, and null removes.
func patched(t *testing.T, object, patch string) string {
	t.Helper()
	result, err := jsonpatch.MergePatch(toJSON(t, object), toJSON(t, patch))
	if err != nil {
		t.Fatalf("patching with %s: %v", patch, err)
	}
	return string(result)
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("converting %s: %v", text, err)
	}
	return data
}

func wantErrors(t *testing.T, errs field.ErrorList, want ...string) {
	t.Helper()
	got := []string{}
	for _, err := range errs {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("errors differ (-want +got):\n%s", diff)
	}
}
