// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

var (
	websites = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"}
	services = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	jobs     = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
)

// schemas reads a document of two kinds.
func schemas(t *testing.T) map[schema.GroupVersionKind]*Schema {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	none := func(schema.GroupVersionKind) reflect.Type { return nil }
	read, err := openapi.Read(raw, none, websites, services)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

const document = `
components:
  schemas:
    com.example.v1.Website:
      x-kubernetes-group-version-kind: [{group: example.com, kind: Website, version: v1}]
      properties:
        apiVersion: {type: string}
        metadata: {allOf: [{$ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]}
        spec:
          type: object
          properties:
            title: {type: string}
            replicas: {type: integer}
            ratio: {type: number}
            languages: {type: array, items: {type: string}}
            pages: {type: array, items: {type: object, properties: {text: {type: string}, size: {type: integer}}}}
            ports: {type: object, additionalProperties: {type: object, properties: {port: {type: integer}}}}
            any: {type: object, x-kubernetes-preserve-unknown-fields: true}
        status: {type: object, properties: {ready: {type: integer}, conditions: {type: array}}}
    io.k8s.api.core.v1.Service:
      x-kubernetes-group-version-kind: [{group: "", kind: Service, version: v1}]
      properties:
        apiVersion: {type: string}
        kind: {type: string}
        metadata: {$ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
        spec:
          type: object
          properties:
            selector: {type: object, additionalProperties: {type: string}}
            type: {type: string}
            weight: {type: number}
            ports: {type: array, items: {type: object, properties: {port: {type: integer}, targetPort: ` +
	`{format: int-or-string, ` +
	`oneOf: [{type: integer}, {type: string}]}}}}
        status: {type: object, properties: {loadBalancer: {type: object}}}
    io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta:
      properties: {name: {type: string}, labels: {type: object, additionalProperties: {type: string}}}
`

func TestTemplate(t *testing.T) {
	tests := map[string]struct {
		hook string
		form inline.Form
		want []string
		// always is true if the warnings do not depend on schemas.
		always bool
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
		"a field of the status that is misspelled": {hook: `status: {redy: 1}`, want: []string{
			`inline.status.redy: there is no such field in the status of Website.example.com/v1; did you mean ready?`,
		}},
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
			want:   []string{`inline.children[0].object.kind: spec.childResources declares no kind "Servce" in apiVersion "v1", so the sync of a parent with this object fails; the declared kinds are: Service.v1, Job.batch/v1`},
			always: true,
		},
		"another version of a kind that is declared": {
			hook: `children: [{object: {apiVersion: batch/v2, kind: Job, metadata: {name: a}}}]`,
		},
		"variables": {hook: `
variables:
- {name: s, expression: "children['Service.v1']"}
- {name: spec, expression: "${parent.spec}"}
- {name: pages, expression: "variables.spec.?pages.orValue([]).filter(p, p.size > 0)"}
- {name: texts, expression: "variables.pages.map(p, p.txt)"}
- {name: made, expression: "{'ttle': 1}"}
status:
  ready: ${variables.s.filter(name, variables.s[name].sttus == null).size() + variables.spec.replcas + ` +
			`variables.made.ttle}
  conditions:
  - ${variables.pages[0].txt}
  - "${variables.pages.map(p, {'all': p}).map(m, m.all.txt)}"
  - "${[{'d': 1}].map(variables, variables.d)}"
  - ${children['Service.v1']['default/a'].?spec.?prts}
  - ${children['Servce.v1'].size() + children[?'Job.batch/v1'].orValue({}).size()}
  - ${children.transformList(k, v, v.size())}
  - ${children['Service.v1'].transformList(k, v, v.sttus)}
  - ${parent.spec.ports.transformMap(k, v, v.prt)}
  - ${parent.spec.ports.map(k, k.prt)}
  - ${parent.spec.pages.transformList(i, p, p.text)}
  - ${parent.spec.pages.all(i, p, i.text == p.txt)}`,
			want: []string{
				`inline.variables[3].expression: Website.example.com/v1 has no field spec.pages[].txt; did you mean ` +
					`text? (at 1:25 of the expression)`,
				`inline.status.conditions[0]: Website.example.com/v1 has no field spec.pages[].txt; did you mean ` +
					`text? (at 1:19 of the expression)`,
				`inline.status.conditions[3]: Service.v1 has no field spec.prts; did you mean ports? (at 1:42 of ` +
					`the expression)`,
				`inline.status.conditions[4]: spec.childResources declares no Servce.v1; did you mean Service.v1? ` +
					`(at 1:9 of the expression)`,
				`inline.status.conditions[6]: Service.v1 has no field sttus; did you mean status? (at 1:45 of the ` +
					`expression)`,
				`inline.status.conditions[7]: Website.example.com/v1 has no field spec.ports[].prt; did you mean ` +
					`port? (at 1:39 of the expression)`,
				`inline.status.conditions[10]: Website.example.com/v1 has no field spec.pages[].txt; did you mean ` +
					`text? (at 1:40 of the expression)`,
				`inline.status.ready: Service.v1 has no field sttus; did you mean status? (at 1:43 of the expression)`,
				`inline.status.ready: Website.example.com/v1 has no field spec.replcas; did you mean replicas? (at ` +
					`1:82 of the expression)`,
			},
			always: true,
		},
		"loops": {hook: `children:
- forEach: {language: parent.spec.languages, page: parent.spec.pages, port: parent.spec.ports}
  when: page.txt != ''
  object: {apiVersion: v1, kind: Service, metadata: {name: "${language.x}-${port.port}"}, spec: {ports: ` +
			`[{port: "${page.sze}"}]}}
- forEach: {page: "parent.spec.any.pages"}
  object: {apiVersion: v1, kind: Service, metadata: {name: "${page.anything}"}}`,
			want: []string{
				`inline.children[0].when: Website.example.com/v1 has no field spec.pages[].txt; did you mean text? ` +
					`(at 1:5 of the expression)`,
				`inline.children[0].object.spec.ports[0].port: Website.example.com/v1 has no field ` +
					`spec.pages[].sze; did you mean size? (at 1:5 of the expression)`,
			},
		},
		"names that macros define": {hook: `status: {conditions: ["${parent.spec.?any.optMap(parent, parent.spc)}",
			"${parent.spec.?pages.optMap(p, p[0].txt)}", "${parent.spec.pages.map(p, p.text).map(t, t)}"]}`,
			want: []string{
				`inline.status.conditions[1]: Website.example.com/v1 has no field spec.pages[].txt; did you mean ` +
					`text? (at 1:34 of the expression)`,
			},
		},
		"types of values": {hook: `children:
- object: {apiVersion: v1, kind: Service, metadata: {name: "${parent.spec.replicas}"}, spec: {weight: ` +
			`"${parent.spec.replicas}",
    ports: [{port: "${parent.spec.title}"}, {port: "${parent.spec.?ratio}"}, {port: "${double(2)}"}, ` +
			`{port: 80.0}, {port: 80.5}]}}
- forEach: {language: parent.spec.languages}
  object: {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: "${language}"}, ` +
			`{port: "${dyn(language)}"}]}}`,
			want: []string{
				`inline.children[0].object.metadata.name: must be of type string in Service.v1, not integer`,
				`inline.children[0].object.spec.ports[0].port: must be of type integer in Service.v1, not string`,
				`inline.children[0].object.spec.ports[4].port: must be of type integer in Service.v1, not number`,
				`inline.children[1].object.spec.ports[0].port: must be of type integer in Service.v1, not string`,
				`inline.children[1].object.spec.ports[1].port: must be of type integer in Service.v1, not string`,
			},
		},
		"a target": {hook: `labels: {a: "${object.spec.tilte}"}`, form: inline.Form{Decorates: true},
			want: []string{`inline.labels.a: Website.example.com/v1 has no field spec.tilte; did you mean title? (at ` +
				`1:12 of the expression)`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var hook v1alpha1.InlineHook
			if err := yaml.UnmarshalStrict([]byte(test.hook), &hook); err != nil {
				t.Fatal(err)
			}
			template, errs := inline.Compile(&hook, test.form, field.NewPath("inline"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			types := Types{
				Parents: []schema.GroupVersionKind{websites}, Children: []schema.GroupVersionKind{services, jobs},
				Schemas: schemas(t),
			}
			if diff := cmp.Diff(test.want, Template(template, types)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			without := Types{Parents: types.Parents, Children: types.Children}
			if got := Template(template, without); len(got) > 0 && !test.always {
				t.Errorf("without schemas, the warnings are %v", got)
			}
			types.Parents, types.Children = append(types.Parents, jobs), []schema.GroupVersionKind{{}}
			if got := Template(template, types); len(got) > 0 {
				t.Errorf("with unknown types, the warnings are %v", got)
			}
		})
	}
}
