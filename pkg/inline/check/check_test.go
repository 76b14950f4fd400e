// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

func schemaOf(t *testing.T, text string) *spec.Schema {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var of spec.Schema
	if err := json.Unmarshal(raw, &of); err != nil {
		t.Fatal(err)
	}
	return &of
}

const (
	website = `
properties:
  apiVersion: {type: string}
  metadata: {allOf: [{type: object, properties: {name: {type: string}, labels: {type: object, ` +
		`additionalProperties: {type: string}}}}]}
  spec:
    type: object
    properties:
      title: {type: string}
      replicas: {type: integer}
      pages: {type: array, items: {type: object, properties: {text: {type: string}}}}
      any: {type: object, x-kubernetes-preserve-unknown-fields: true}
  status: {type: object, properties: {ready: {type: integer}, conditions: {type: array}}}
`
	service = `
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      selector: {type: object, additionalProperties: {type: string}}
      type: {type: string}
      ports: {type: array, items: {type: object, properties: {port: {type: integer}, targetPort: {type: string, ` +
		`format: int-or-string}}}}
`
)

func TestHook(t *testing.T) {
	tests := map[string]struct {
		hook string
		form inline.Form
		want []string
	}{
		"all is well": {hook: `
variables: [{name: pages, expression: "parent.spec.?pages.orValue([])"}]
status: {ready: "${size(variables.pages)}", observedGeneration: "${optional.none()}"}
children:
- forEach: {page: parent.spec.pages}
  object: {apiVersion: v1, kind: Service, metadata: {name: "${parent.metadata.labels['a.b/c']}-${page.text}"},
    spec: {ports: [{port: "${parent.spec.replicas}", targetPort: 80}], selector: {a: ` +
			`"${parent.spec.any.thing.more}"}}}`,
			want: []string{`inline.status.observedGeneration: there is no such field in the status of Website.example.com/v1`},
		},
		"fields of the parent": {hook: `status: {ready: "${parent.spec.replcas + parent.spec.pages[0].txt.size()}",
			conditions: ["${parent.?spc.?x}", "${[{'spec': 1}].map(parent, parent.spec)}", "${has(parent.spec.tilte)}"]}`,
			want: []string{
				`inline.status.conditions[0]: Website.example.com/v1 has no field spc; did you mean spec? (at 1:7 of the ` +
					`expression)`,
				`inline.status.conditions[2]: Website.example.com/v1 has no field spec.tilte; did you mean title? (at 1:4 ` +
					`of the expression)`,
				`inline.status.ready: Website.example.com/v1 has no field spec.replcas; did you mean replicas? (at 1:12 of ` +
					`the expression)`,
				`inline.status.ready: Website.example.com/v1 has no field spec.pages[].txt; did you mean text? (at 1:43 of ` +
					`the expression)`,
			},
		},
		"fields and types of a child": {hook: `children:
- object: {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {slector: {}, type: [a], ports: [{port: ` +
			`"80", prt: 1}, "${'a'}"]}}
- object: {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: {port: 1}, type: "${size('a')}", ` +
			`selector: {a: 1, b: "${true}"}}}
- object: {apiVersion: v1, kind: "${parent.spec.title}", metadata: {name: a}, spec: {ports: {port: 1}}}`,
			want: []string{
				`inline.children[0].object.spec.ports[0].port: must be of type integer in Service.v1, not string`,
				`inline.children[0].object.spec.ports[0].prt: there is no such field in Service.v1; did you mean port?`,
				`inline.children[0].object.spec.ports[1]: must be of type object in Service.v1, not string`,
				`inline.children[0].object.spec.slector: there is no such field in Service.v1; did you mean selector?`,
				`inline.children[0].object.spec.type: must be of type string in Service.v1, not array`,
				`inline.children[1].object.spec.ports: must be of type array in Service.v1, not object`,
				`inline.children[1].object.spec.selector.a: must be of type string in Service.v1, not integer`,
				`inline.children[1].object.spec.selector.b: must be of type string in Service.v1, not boolean`,
				`inline.children[1].object.spec.type: must be of type string in Service.v1, not integer`,
			},
		},
		"a kind that is not declared": {hook: `children: [{object: {apiVersion: v1, kind: Servce, metadata: {name: a}}}]`,
			want: []string{`inline.children[0].object.kind: Servce is not declared`},
		},
		"a target": {hook: `labels: {a: "${object.spec.tilte}"}`, form: inline.Form{Decorates: true},
			want: []string{`inline.labels.a: Website.example.com/v1 has no field spec.tilte; did you mean title? (at ` +
				`1:12 of the expression)`},
		},
		"a hook that does not compile": {hook: `status: {a: "${"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var hook v1alpha1.InlineHook
			if err := yaml.UnmarshalStrict([]byte(test.hook), &hook); err != nil {
				t.Fatal(err)
			}
			got := Hook(&hook, test.form, field.NewPath("inline"), Schemas{
				Parent: schemaOf(t, website), ParentType: "Website.example.com/v1",
				Child: func(_, kind string) (*spec.Schema, string, string) {
					if kind != "Service" {
						return nil, "", kind + " is not declared"
					}
					return schemaOf(t, service), "Service.v1", ""
				},
			})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	hook := &v1alpha1.InlineHook{Status: &v1alpha1.JSONValue{Raw: []byte(`{"a": "${parent.spec.gone}"}`)}}
	if got := Hook(hook, inline.Form{}, field.NewPath("inline"), Schemas{}); got != nil {
		t.Errorf("without schemas, the warnings are %v", got)
	}
}
