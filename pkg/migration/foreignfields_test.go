// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// objectOf reads YAML as an object, with integers.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	of := &unstructured.Unstructured{}
	if err := json.Unmarshal(encoded, &of.Object); err != nil {
		t.Fatal(err)
	}
	return of
}

const withForeignFields = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: a, annotations: {mine: stays}, finalizers: [metacontroller.k8s.io/drain, other.example/keeps]}
spec:
  paused: true
  parentResource: {apiVersion: example.com/v1, resource: things}
  childResources:
  - {apiVersion: v1, resource: pods}
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: RollingInPlace, maxUnavailable: 3}}
  hooks: {sync: {webhook: {url: "http://a"}}}
status: {observedGeneration: 1}
`

// What a definition does not have is in an annotation there, and where it was when the object comes back.
func TestForeignFieldsComeBack(t *testing.T) {
	definition, err := original(kinds()[0])
	if err != nil {
		t.Fatal(err)
	}
	here := objectOf(t, withForeignFields)
	there, foreign, err := export(here, definition)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, field := range foreign {
		paths = append(paths, field.String())
	}
	if diff := cmp.Diff([]string{"spec.childResources[1].updateStrategy.maxUnavailable", "spec.paused"}, paths); diff != "" {
		t.Errorf("foreign fields (-want +got):\n%s", diff)
	}
	if _, has, _ := unstructured.NestedBool(there.Object, "spec", "paused"); has {
		t.Error("the definition gets a field that it does not have")
	}
	if got := there.GetFinalizers(); !cmp.Equal(got, []string{"other.example/keeps"}) {
		t.Errorf("the finalizers there are %v", got)
	}
	if err := restore(there); err != nil {
		t.Fatal(err)
	}
	want := here.DeepCopy()
	delete(want.Object, "status")
	if diff := cmp.Diff(comparable(want), comparable(there)); diff != "" {
		t.Errorf("it comes back as (-want +got):\n%s", diff)
	}
}

// What was changed there meanwhile is not undone.
func TestForeignFieldsDoNotUndo(t *testing.T) {
	definition, err := original(kinds()[0])
	if err != nil {
		t.Fatal(err)
	}
	there, _, err := export(objectOf(t, withForeignFields), definition)
	if err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(there.Object, []any{map[string]any{"apiVersion": "v1", "resource": "pods"}}, "spec", "childResources"); err != nil {
		t.Fatal(err)
	}
	if err := restore(there); err != nil {
		t.Fatal(err)
	}
	children, _, _ := unstructured.NestedSlice(there.Object, "spec", "childResources")
	if diff := cmp.Diff([]any{map[string]any{"apiVersion": "v1", "resource": "pods"}}, children); diff != "" {
		t.Errorf("the children (-want +got):\n%s", diff)
	}
	if paused, _, _ := unstructured.NestedBool(there.Object, "spec", "paused"); !paused {
		t.Error("spec.paused does not come back")
	}
	there.SetAnnotations(map[string]string{ForeignFieldsAnnotation: "nonsense"})
	if err := restore(there); err == nil {
		t.Error("an annotation that cannot be read is no error")
	}
}
