// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestUnknownFields(t *testing.T) {
	none := []UnknownField(nil)
	tests := map[string]struct {
		of    schema.GroupVersionKind
		value string
		want  []UnknownField
	}{
		"known fields only":                          {pod, `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {hostNetwork: true}}`, none},
		"a misspelt field":                           {pod, `{spec: {hostNetwrk: true}}`, []UnknownField{{"spec.hostNetwrk", "spec.hostNetwork"}}},
		"a field in another case":                    {pod, `{Spec: {}}`, []UnknownField{{"Spec", "spec"}}},
		"a field that nothing is like":               {pod, `{spec: {nonsense: {x: 1}}}`, []UnknownField{{"spec.nonsense", ""}}},
		"a field that is null":                       {pod, `{spec: {nonsense: null}}`, []UnknownField{{"spec.nonsense", ""}}},
		"fields in items of a list":                  {pod, `{spec: {containers: [{name: a}, {name: b, prots: []}]}}`, []UnknownField{{"spec.containers[1].prots", "spec.containers[1].ports"}}},
		"several fields":                             {pod, `{metadata: {lables: {}}, spec: {containers: [{nam: a}]}, extra: 1}`, []UnknownField{{"extra", ""}, {"metadata.lables", "metadata.labels"}, {"spec.containers[0].nam", "spec.containers[0].name"}}},
		"metadata of a custom resource":              {thing, `{metadata: {lables: {}}}`, []UnknownField{{"metadata.lables", "metadata.labels"}}},
		"any name in a map":                          {pod, `{metadata: {labels: {x: y}}, spec: {nodeSelector: {z: w}}}`, none},
		"a quantity":                                 {pod, `{spec: {containers: [{name: a, resources: {limits: {cpu: 1, "example.com/gpu": 1}}}]}}`, none},
		"below a value without a schema":             {pod, `{spec: {tolerations: [{x: 1}]}}`, none},
		"an object in place of a list":               {pod, `{spec: {containers: {x: 1}}}`, none},
		"a list in place of an object":               {pod, `{spec: [{x: 1}]}`, none},
		"no object":                                  {pod, `text`, none},
		"apiVersion and kind that no schema has":     {thing, `{apiVersion: example.com/v1, kind: Thing, spec: {flag: true}}`, none},
		"apiVersion below, where it is none":         {thing, `{spec: {empty: {apiVersion: v1}}}`, []UnknownField{{"spec.empty.apiVersion", ""}}},
		"any field of an object that may have any":   {thing, `{spec: {any: {x: {y: 1}}}}`, none},
		"any field where unknown ones are preserved": {thing, `{spec: {free: {x: {y: 1}}, known: {x: a, z: 1}}}`, none},
		"where the schema allows no other":           {thing, `{spec: {none: {x: 1}}}`, []UnknownField{{"spec.none.x", ""}}},
		"far down in a type that holds itself":       {thing, `{spec: {self: {children: [{children: [{siez: 1}]}]}}}`, []UnknownField{{"spec.self.children[0].children[0].siez", "spec.self.children[0].children[0].size"}}},
		"an embedded resource":                       {wrapper, `{spec: {template: {apiVersion: v1, kind: Pod, metadata: {anything: 1}, spec: {x: 1}, extra: 1}}}`, []UnknownField{{"spec.template.extra", ""}}},
		"an embedded resource that is open":          {wrapper, `{spec: {open: {apiVersion: v1, extra: 1}}}`, none},
		"a number or a text":                         {wrapper, `{spec: {port: {x: 1}}}`, none},
		"values of a map that have a schema":         {wrapper, `{spec: {rooms: {kitchen: {size: 1, sizee: 2}}}}`, []UnknownField{{"spec.rooms.kitchen.sizee", "spec.rooms.kitchen.size"}}},
		"a schema below an object that is open":      {wrapper, `{spec: {half: {x: 1, strict: {z: 1}}}}`, []UnknownField{{"spec.half.strict.z", ""}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			value, err := yaml.YAMLToJSON([]byte(test.value))
			if err != nil {
				t.Fatal(err)
			}
			types := read(t, test.of)
			if diff := cmp.Diff(test.want, types.UnknownFields(value)); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithoutASchemaNoFieldIsUnknown(t *testing.T) {
	var none *Type
	if unknown := none.UnknownFields([]byte(`{"a":1}`)); unknown != nil {
		t.Errorf("unknown are %v", unknown)
	}
}

func TestWithoutIndexes(t *testing.T) {
	for path, want := range map[string]string{
		"":                  "",
		"spec.image":        "spec.image",
		"spec.c[0].e[12].x": "spec.c[].e[].x",
		"spec.matrix[1][2]": "spec.matrix[][]",
		"spec.c[0":          "spec.c[]",
	} {
		if got := WithoutIndexes(path); got != want {
			t.Errorf("of %q, it is %q, want %q", path, got, want)
		}
	}
}

func TestMeant(t *testing.T) {
	for name, test := range map[string]struct{ path, want string }{
		"a field":                                 {"spec.hostNetwrk", "spec.hostNetwork"},
		"a field at the top":                      {"spce", "spec"},
		"a field of an item":                      {"spec.containers[12].prots", "spec.containers[12].ports"},
		"a field of an item with a key":           {`spec.containers[name="a.b]\"["].prots`, `spec.containers[name="a.b]\"["].ports`},
		"a field of an item of an item":           {`spec.containers[0].ports[containerPort=80,protocol="TCP"].protcol`, `spec.containers[0].ports[containerPort=80,protocol="TCP"].protocol`},
		"a field that is near none":               {"spec.nonsense", ""},
		"a field that the schema has":             {"spec.hostNetwork", ""},
		"below a field that the schema has not":   {"spec.nonsense.x", ""},
		"below what the schema does not describe": {"spec.tolerations[0].kye", ""},
		"an item":                      {"spec.containers[0]", ""},
		"a bracket that is not closed": {"spec.containers[0", ""},
		"dots only":                    {"...", ""},
		"nothing":                      {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(t, pod).Meant(test.path); got != test.want {
				t.Errorf("%q is meant, want %q", got, test.want)
			}
		})
	}
	if got := (*Type)(nil).Meant("spec.x"); got != "" {
		t.Errorf("without a schema, %q is meant", got)
	}
}

func TestHasAllFields(t *testing.T) {
	for name, test := range map[string]struct {
		value string
		want  bool
	}{
		"known fields":                 {`{"spec":{"hostNetwork":true,"containers":[{"name":"a"},{"name":"b","ports":[]}]}}`, true},
		"spaces":                       {" {\n\t\"spec\" : { \"hostNetwork\" : true , \"containers\" : [ { } , { } ] } }\n", true},
		"nothing in it":                {`{}`, true},
		"an unknown field":             {`{"spec":{"nonsense":true}}`, false},
		"one behind nested values":     {`{"spec":{"tolerations":[{"a":[1,{"b":null}]}],"nonsense":1}}`, false},
		"one behind quotes in a text":  {`{"spec":{"nodeSelector":{"a":"\\\"}]"},"nonsense":1}}`, false},
		"one behind a backslash":       {`{"spec":{"nodeSelector":{"a":"b\\"},"nonsense":1}}`, false},
		"quotes in a text":             {`{"spec":{"nodeSelector":{"a":"\"}]\\"},"hostNetwork":true}}`, true},
		"brackets in a skipped text":   {`{"spec":{"tolerations":["}]"],"hostNetwork":true}}`, true},
		"a name with an escape":        {`{"sp\u0065c":{}}`, false},
		"a text in place of an object": {`{"spec":"a"}`, true},
		"cut off in an object":         {`{"spec":{`, false},
		"cut off in a text":            {`{"spec":"a`, false},
		"cut off behind a name":        {`{"spec"`, false},
		"cut off in a skipped list":    {`{"spec":{"tolerations":[1,`, false},
		"a name that is none":          {`{1:2}`, false},
		"too many ends":                {`{"spec":}}`, false},
		"empty":                        {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			of, value := read(t, pod), []byte(test.value)
			if got := of.hasAllFields(value); got != test.want {
				t.Errorf("has all: %t", got)
			}
			alloctest.AtMost(t, 0, func() { of.hasAllFields(value) })
		})
	}
}

// What is said to be known must be known: otherwise a misspelt field would not be found.
func FuzzHasAllFields(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"containers":[{"name":"a","nam":1}]}}`, `{"spec":{"nodeSelector":{"a":"\\\"}]"},"nonsense":1}}`, `{"sp\u0065c":{}}`, `[{"a":1}]`, ` {"metadata" : {"labels":{}}, "x":[]}`,
	} {
		f.Add(seed)
	}
	of := read(f, pod)
	f.Fuzz(func(t *testing.T, value string) {
		if json.Valid([]byte(value)) && of.hasAllFields([]byte(value)) {
			if unknown := of.searchUnknown([]byte(value)); len(unknown) > 0 {
				t.Errorf("%s has %v", value, unknown)
			}
		}
	})
}
