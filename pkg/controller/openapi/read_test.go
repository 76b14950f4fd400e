// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// document is cut down from what a host publishes of a built-in type and of a custom
// resource.
const document = `
components:
  schemas:
    io.k8s.api.core.v1.Pod:
      properties:
        apiVersion: {type: string}
        kind: {type: string}
        metadata: {default: {}, allOf: [{$ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}
        spec: {default: {}, allOf: [{$ref: "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]}
      x-kubernetes-group-version-kind: [{group: "", kind: Pod, version: v1}]
    io.k8s.api.core.v1.PodSpec:
      properties:
        containers:
          type: array
          items: {default: {}, allOf: [{$ref: "#/components/schemas/io.k8s.api.core.v1.Container"}]}
          x-kubernetes-list-map-keys: [name]
          x-kubernetes-list-type: map
        hostNetwork: {type: boolean}
        nodeSelector: {type: object, additionalProperties: {type: string, default: ""}}
        overhead: {type: object, additionalProperties: {$ref: "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}}
        securityContext: {type: object, properties: {runAsUser: {type: integer}}}
        tolerations: {type: array, items: {type: object}, x-kubernetes-list-type: atomic}
        newerThanOurTypes: {type: boolean}
    io.k8s.api.core.v1.Container:
      properties:
        name: {type: string, default: ""}
        resources: {default: {}, allOf: [{$ref: "#/components/schemas/io.k8s.api.core.v1.ResourceRequirements"}]}
        ports:
          type: array
          items: {default: {}, allOf: [{$ref: "#/components/schemas/io.k8s.api.core.v1.ContainerPort"}]}
          x-kubernetes-list-map-keys: [containerPort, protocol]
          x-kubernetes-list-type: map
          x-kubernetes-patch-merge-key: containerPort
          x-kubernetes-patch-strategy: merge
    io.k8s.api.core.v1.ContainerPort:
      properties:
        containerPort: {type: integer, default: 0}
        protocol: {type: string, default: TCP}
        odd: {type: object, default: {a: 1}, properties: {a: {type: integer}}}
    io.k8s.api.core.v1.ResourceRequirements:
      properties:
        limits: {type: object, additionalProperties: {$ref: "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}}
    io.k8s.apimachinery.pkg.api.resource.Quantity:
      oneOf: [{type: string}, {type: number}]
    io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta:
      properties:
        name: {type: string}
        labels: {type: object, additionalProperties: {type: string}}
        finalizers: {type: array, items: {type: string}, x-kubernetes-list-type: set, x-kubernetes-patch-strategy: merge}
        deletionGracePeriodSeconds: {type: integer}
    com.example.v1.Thing:
      properties:
        metadata: {allOf: [{$ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}
        spec:
          type: object
          properties:
            flag: {type: boolean}
            empty: {type: object, properties: {x: {type: string}}}
            map: {type: object, additionalProperties: {type: string}}
            any: {type: object, additionalProperties: true}
            none: {type: object, properties: {}, additionalProperties: false}
            free: {type: object, x-kubernetes-preserve-unknown-fields: true}
            known: {type: object, properties: {x: {type: string}}, x-kubernetes-preserve-unknown-fields: true}
            plain: {type: array, items: {type: object, properties: {name: {type: string}}}}
            old: {type: array, items: {type: object, properties: {id: {type: string}}}, x-kubernetes-patch-merge-key: id, x-kubernetes-patch-strategy: "merge,retainKeys"}
            oldSet: {type: array, items: {type: string}, x-kubernetes-patch-strategy: merge}
            oldReplaced: {type: array, items: {type: string}, x-kubernetes-patch-strategy: replace}
            self: {$ref: "#/components/schemas/com.example.v1.Tree"}
      x-kubernetes-group-version-kind: [{group: example.com, kind: Thing, version: v1}]
    com.example.v1.Wrapper:
      properties:
        spec:
          type: object
          properties:
            template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
            open: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
            port: {x-kubernetes-int-or-string: true}
            rooms: {type: object, additionalProperties: {type: object, properties: {size: {type: integer}}}}
            half: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {strict: {type: object, properties: {x: {type: integer}}}}}
      x-kubernetes-group-version-kind: [{group: example.com, kind: Wrapper, version: v1}]
    com.example.v1.Tree:
      properties:
        children: {type: array, items: {$ref: "#/components/schemas/com.example.v1.Tree"}}
        size: {$ref: "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}
`

var (
	pod   = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	thing = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	// wrapper has what few types have.
	wrapper = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Wrapper"}
)

func goType(kind schema.GroupVersionKind) reflect.Type {
	if kind == pod {
		return reflect.TypeFor[corev1.Pod]()
	}
	return nil
}

// read reads the test document.
func read(t testing.TB, kind schema.GroupVersionKind) *Type {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	types, err := Read(raw, goType, kind)
	if err != nil {
		t.Fatal(err)
	}
	if types[kind] == nil {
		t.Fatalf("the document describes no %s", kind)
	}
	return types[kind]
}

// at follows fields, and lists by the name "[]".
func (t *Type) at(path string) *Type {
	for name := range strings.SplitSeq(path, ".") {
		if name == "[]" {
			t = t.Items()
		} else {
			t = t.Field(name)
		}
	}
	return t
}

func TestLists(t *testing.T) {
	tests := map[string]struct {
		of   schema.GroupVersionKind
		path string
		list List
		keys []Key
	}{
		"a list of objects with one key":          {pod, "spec.containers", Map, []Key{{Name: "name", Default: ""}}},
		"a list of objects with two keys":         {pod, "spec.containers.[].ports", Map, []Key{{Name: "containerPort", Default: int64(0)}, {Name: "protocol", Default: "TCP"}}},
		"a set":                                   {pod, "metadata.finalizers", Set, nil},
		"a set of a custom resource's metadata":   {thing, "metadata.finalizers", Set, nil},
		"an atomic list":                          {pod, "spec.tolerations", Atomic, nil},
		"a list of which nothing is said":         {thing, "spec.plain", Unknown, nil},
		"a list that only patches merge by a key": {thing, "spec.old", Map, []Key{{Name: "id"}}},
		"a list that only patches merge":          {thing, "spec.oldSet", Set, nil},
		"a list that patches replace":             {thing, "spec.oldReplaced", Unknown, nil},
		"a list of a type that contains itself":   {thing, "spec.self.children.[].children", Unknown, nil},
		"a field that is no list":                 {pod, "spec.hostNetwork", Unknown, nil},
		"a field that is not there":               {pod, "spec.nonsense.[].x", Unknown, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list := read(t, test.of).at(test.path)
			if list.List() != test.list {
				t.Errorf("it is %q, want %q", list.List(), test.list)
			}
			if test.keys != nil {
				if diff := cmp.Diff(test.keys, list.Keys()); diff != "" {
					t.Errorf("keys (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestQuantities(t *testing.T) {
	tests := map[string]struct {
		of   schema.GroupVersionKind
		path string
		want bool
	}{
		"a value of a map":             {pod, "spec.overhead.cpu", true},
		"a value far below":            {pod, "spec.containers.[].resources.limits.memory", true},
		"a field":                      {thing, "spec.self.children.[].size", true},
		"a text":                       {pod, "spec.containers.[].name", false},
		"a text in a map":              {pod, "spec.nodeSelector.cpu", false},
		"a field that is not there":    {pod, "spec.nonsense.cpu", false},
		"a text of a custom resource":  {thing, "spec.map.cpu", false},
		"what a resource leaves open":  {thing, "spec.free.resources.limits.cpu", false},
		"the map that holds some":      {pod, "spec.overhead", false},
		"a list in place of an object": {pod, "spec.[]", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := read(t, test.of).at(test.path).IsQuantity(); got != test.want {
				t.Errorf("it is a quantity: %v, want %v", got, test.want)
			}
		})
	}
}

func TestDroppedFields(t *testing.T) {
	none := map[string]any{}
	tests := map[string]struct {
		of    schema.GroupVersionKind
		path  string // of the object
		field string
		value any
		want  bool
	}{
		"a null":                                 {pod, "spec", "hostNetwork", nil, true},
		"a null where nothing is known":          {pod, "spec.nonsense", "x", nil, true},
		"false where there is no pointer":        {pod, "spec", "hostNetwork", false, true},
		"an empty map":                           {pod, "spec", "nodeSelector", none, true},
		"an empty list":                          {pod, "spec", "containers", []any{}, true},
		"an empty text":                          {pod, "spec.containers.[]", "name", "", true},
		"an object without a pointer":            {pod, "spec.containers.[]", "resources", none, true},
		"an object that holds only empty fields": {pod, "spec.containers.[]", "resources", map[string]any{"limits": none}, true},
		"an object that holds a null":            {pod, "spec.containers.[]", "resources", map[string]any{"limits": nil}, true},
		"empty labels":                           {pod, "metadata", "labels", none, true},
		"empty labels of a custom resource":      {thing, "metadata", "labels", none, true},
		"a field that the type does not have":    {pod, "spec", "nonsense", "x", true},
		"one that a custom resource's has not":   {thing, "spec", "nonsense", int64(1), true},
		"one where the schema allows no other":   {thing, "spec.none", "x", "y", true},

		"true":                                      {pod, "spec", "hostNetwork", true, false},
		"a map with something in it":                {pod, "spec", "nodeSelector", map[string]any{"a": ""}, false},
		"a list with something in it":               {pod, "spec", "containers", []any{none}, false},
		"an object that holds something":            {pod, "spec.containers.[]", "resources", map[string]any{"limits": map[string]any{"cpu": "0"}}, false},
		"an empty object behind a pointer":          {pod, "spec", "securityContext", none, false},
		"a number behind a pointer":                 {pod, "metadata", "deletionGracePeriodSeconds", int64(0), false},
		"false in a field that our types have not":  {pod, "spec", "newerThanOurTypes", false, false},
		"an empty text in a map":                    {pod, "spec.nodeSelector", "a", "", false},
		"false in a custom resource":                {thing, "spec", "flag", false, false},
		"an empty object in a custom resource":      {thing, "spec", "empty", none, false},
		"an empty map in a custom resource":         {thing, "spec", "map", none, false},
		"any value of a map":                        {thing, "spec.map", "x", "y", false},
		"any field where the schema allows others":  {thing, "spec.any", "x", "y", false},
		"any field where unknown ones are kept":     {thing, "spec.free", "x", "y", false},
		"any field beside known ones":               {thing, "spec.known", "y", "z", false},
		"any field of an object of which no one is": {pod, "spec.tolerations.[]", "key", "x", false},
		"any field where nothing is known":          {pod, "spec.nonsense", "x", "y", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := read(t, test.of).at(test.path).Drops(test.field, test.value); got != test.want {
				t.Errorf("it is dropped: %v, want %v", got, test.want)
			}
		})
	}
}

func TestAKindThatIsNotDescribed(t *testing.T) {
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	types, err := Read(raw, goType, schema.GroupVersionKind{Version: "v1", Kind: "Other"}, pod)
	if err != nil || len(types) != 1 || types[pod] == nil {
		t.Errorf("read %v, %v", types, err)
	}
}

func TestMalformedDocuments(t *testing.T) {
	for name, document := range map[string]string{
		"no JSON":               `<html>`,
		"no schemas":            `{"components":{}}`,
		"a schema of a type":    `{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Pod"}],"properties":[]}}}}`,
		"kinds of another form": `{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":{"kind":"Pod"}}}}}`,
		"additional properties": `{"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Pod"}],"additionalProperties":5}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if types, err := Read([]byte(document), goType, pod); err == nil {
				t.Errorf("read %v", types)
			}
		})
	}
}
