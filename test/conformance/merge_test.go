// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// merging controls one child of any type. The parent's spec holds the whole child.
const merging = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Thing, resource: things}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  - {apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}
  - {apiVersion: apps/v1, resource: replicasets, updateStrategy: {method: InPlace}}
  hooks: {sync: {webhook: {url: $HOOK/sync}}}
`

// Fields that the hook answers are set. Fields that it no longer answers are removed. Fields that
// others set stay. Lists are merged item by item where their schema says so, and replaced
// elsewhere.
func TestMerge(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, spec: {clusterIP: None, ports: [%s]}}`
	const replicaSet = `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 0, selector: {matchLabels: {app: x}},
		template: {metadata: {labels: {app: x}}, spec: {containers: [%s]}}}}`
	in := func(manifest, list string) string { return strings.Replace(manifest, "%s", list, 1) }
	tests := map[string]struct {
		first, theirs, second string
		// want are the values of fields at the end. Of lists, it is one field of each item, in
		// order.
		want map[string]any
		// dynamically are the values with DynamicApply if they differ.
		dynamically map[string]any
	}{
		"a value that changes": {
			first:  `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`,
			second: `{apiVersion: v1, kind: ConfigMap, data: {a: "2"}}`,
			want:   map[string]any{"data": object{"a": "2"}},
		},
		"a value that somebody else changed is set again": {
			first:  `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`,
			theirs: `{data: {a: theirs}}`,
			second: `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "2"}}`,
			want:   map[string]any{"data": object{"a": "1", "b": "2"}},
		},
		"fields that are dropped, beside somebody else's": {
			first:  `{apiVersion: v1, kind: ConfigMap, data: {a: "1", b: "1"}, metadata: {annotations: {mine: x}}}`,
			theirs: `{data: {c: theirs}, metadata: {annotations: {theirs: x}}}`,
			second: `{apiVersion: v1, kind: ConfigMap, data: {b: "1"}, metadata: {annotations: {now: x}}}`,
			want: map[string]any{
				"data": object{"b": "1", "c": "theirs"}, "metadata.annotations.mine": nil,
				"metadata.annotations.theirs": "x", "metadata.annotations.now": "x",
			},
		},
		"a map that is dropped, beside somebody else's in it": {
			first:  `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}}`,
			theirs: `{data: {c: theirs}}`,
			second: `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {now: x}}}`,
			want:   map[string]any{"data": object{"c": "theirs"}, "metadata.annotations.now": "x"},
			// Metacontroller removes the whole map.
			dynamically: map[string]any{"data": nil, "metadata.annotations.now": "x"},
		},
		"null is nothing": {
			first:  `{apiVersion: v1, kind: ConfigMap, data: {a: "1"}, immutable: null}`,
			second: `{apiVersion: v1, kind: ConfigMap, data: {a: "2"}, immutable: null}`,
			want:   map[string]any{"data": object{"a": "2"}, "immutable": nil},
		},
		"items with a key, of the hook and of somebody else": {
			first:  in(service, `{name: a, port: 80}, {name: b, port: 81}`),
			theirs: `{spec: {ports: [{name: a, port: 80}, {name: b, port: 81}, {name: c, port: 82}]}}`,
			second: in(service, `{name: a, port: 80, targetPort: 8080}, {name: d, port: 83}`),
			want:   map[string]any{"spec.ports name": list{"a", "c", "d"}, "spec.ports targetPort": list{int64(8080), int64(82), int64(83)}},
		},
		"a container that somebody else put in": {
			first:  in(replicaSet, `{name: web, image: "web:1"}`),
			theirs: `{spec: {template: {spec: {containers: [{name: web, image: "web:1"}, {name: sidecar, image: "mesh:1"}]}}}}`,
			second: in(replicaSet, `{name: web, image: "web:2"}`),
			want: map[string]any{
				"spec.template.spec.containers name": list{"web", "sidecar"}, "spec.template.spec.containers image": list{"web:2", "mesh:1"},
			},
		},
		"a list without keys is replaced": {
			first:  in(replicaSet, `{name: web, image: "web:1", args: [a, b]}`),
			second: in(replicaSet, `{name: web, image: "web:1", args: [c]}`),
			want:   map[string]any{"spec.template.spec.containers args": list{list{"c"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			underBothEngines(t, func(t *testing.T, s *scenario.Scenario) {
				s.Define(harness.CRD{Kind: "Thing"})
				s.Answers(answers{"/sync": func(asked object) object {
					child := s.Parse(scenario.At(asked, "parent", "spec", "child").(string))
					metadata, ok := child["metadata"].(object)
					if !ok {
						metadata = object{}
					}
					metadata["name"] = "a"
					child["metadata"] = metadata
					return object{"children": list{child}}
				}})
				spec := func(child string) string {
					text, err := yaml.Marshal(object{"spec": object{"child": child}})
					if err != nil {
						t.Fatal(err)
					}
					return string(text)
				}
				s.Create(merging + "\n---\n" + aThing + spec(test.first))
				first := s.Parse(test.first)
				child := ref{APIVersion: first["apiVersion"].(string), Kind: first["kind"].(string), Namespace: "$NAMESPACE", Name: "a"}
				s.Exists(child)
				if test.theirs != "" {
					s.Patch(child, test.theirs)
				}
				s.Patch(theThing, spec(test.second))
				s.Exists(theThing, scenario.Has("status.observedGeneration", int64(2)))
				wanted := test.want
				if s.Engine == v1alpha1.ChildApplyDynamic && test.dynamically != nil {
					wanted = test.dynamically
				}
				var checks []scenario.Check
				for path, want := range wanted {
					if path, field, ofItems := strings.Cut(path, " "); ofItems {
						checks = append(checks, scenario.HasItems(path, field, want.(list)...))
					} else {
						checks = append(checks, scenario.Has(path, want))
					}
				}
				s.Exists(child, checks...)
			})
		})
	}
}
