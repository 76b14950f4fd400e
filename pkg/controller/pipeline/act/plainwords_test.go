// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"errors"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// The errors are what a kube-apiserver answered.
func TestErrorsOfTheHostInPlainWords(t *testing.T) {
	const (
		decoding = `Deployment in version "v1" cannot be handled as a Deployment: `
		typed    = `failed to create typed patch object (default/shop; apps/v1, Kind=Deployment): `
		proper   = `failed to convert new object (default/shop; apps/v1, Kind=Deployment) to proper version: unable to convert unstructured object to apps/v1, Kind=Deployment: `
	)
	container := func(fields string) string {
		return `{"spec":{"template":{"spec":{"containers":[{"name":"a"},{"name":"b",` + fields + `}]}}}}`
	}
	shop := described(t, `{spec: {type: object, properties: {replicas: {type: integer}, containers: {type: array, items: {type: object, properties: {image: {type: string}}}}}}}`)
	for name, test := range map[string]struct{ body, err, want string }{
		"a number in quotes": {
			`{"spec":{"replicas":"3"}}`, decoding + `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`,
			`spec.replicas must be a whole number, not a string (write it without quotes)`,
		},
		"half a replica": {
			`{"spec":{"replicas":1.5}}`, decoding + `json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32`,
			`spec.replicas must be a whole number`,
		},
		"a boolean in an environment": {
			container(`"env":[{"name":"A","value":"1"},{"name":"B","value":true}]`),
			decoding + `json: cannot unmarshal bool into Go struct field EnvVar.spec.template.spec.containers.env.value of type string`,
			`spec.template.spec.containers[1].env[1].value must be a string, not a boolean (write it in quotes)`,
		},
		"a list item of another type": {
			container(`"args":["a",1]`), decoding + `json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.args of type string`,
			`spec.template.spec.containers[1].args[1] must be a string, not a number (write it in quotes)`,
		},
		"a value in place of a list": {
			container(`"args":"a"`), decoding + `json: cannot unmarshal string into Go struct field Container.spec.template.spec.containers.args of type []string`,
			`spec.template.spec.containers[1].args must be a list, not a string`,
		},
		"an object in place of a list": {
			`{"spec":{"template":{"spec":{"containers":{"name":"a"}}}}}`, decoding + `json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container`,
			`spec.template.spec.containers must be a list, not an object`,
		},
		"a string in place of an object": {
			`{"spec":"x"}`, decoding + `json: cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec`,
			`spec must be an object, not a string`,
		},
		"a number in data": {
			`{"data":{"a":"1","b":2}}`, `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`,
			`data.b must be a string, not a number (write it in quotes)`,
		},
		"an object in data": {
			`{"data":{"a":"1","b":{"c":2}}}`, `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal object into Go struct field ConfigMap.data of type string`,
			`data.b must be a string, not an object`,
		},
		"a list in place of data": {
			`{"data":["a"]}`, `ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string`,
			`data must be an object, not a list`,
		},
		"a field of an embedded Go type": {
			container(`"readinessProbe":{"httpGet":{"port":true}}`),
			decoding + `json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.template.spec.containers.readinessProbe.ProbeHandler.httpGet.port of type int32`,
			`spec.template.spec.containers[1].readinessProbe.httpGet.port must be a whole number, not a boolean`,
		},
		"a value that the body does not have": {
			`{}`, decoding + `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`,
			`a value in spec.replicas must be a whole number, not a string (write it without quotes)`,
		},
		"what was written is no object": {
			`no`, decoding + `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`,
			`a value in spec.replicas must be a whole number, not a string (write it without quotes)`,
		},
		"applied, a number in quotes": {
			`{}`, typed + `.spec.replicas: expected numeric (int or float), got string`, `spec.replicas must be a number, not a string (write it without quotes)`,
		},
		"applied, a number without quotes": {
			`{}`, typed + `.spec.template.spec.containers[name="a"].env[name="A"].value: expected string, got &value.valueUnstructured{Value:1}`,
			`spec.template.spec.containers[name="a"].env[name="A"].value must be a string, not a number (write it in quotes)`,
		},
		"applied, a boolean": {
			`{}`, typed + `.data.a: expected string, got &value.valueUnstructured{Value:true}`, `data.a must be a string, not a boolean (write it in quotes)`,
		},
		"applied, an object": {
			`{}`, typed + `.data.a: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":1}}`, `data.a must be a string, not an object`,
		},
		"applied, an object in place of a list": {
			`{}`, typed + `.spec.template.spec.containers: expected list, got &{map[image:b name:a]}`, `spec.template.spec.containers must be a list, not an object`,
		},
		"applied, a list in place of an object": {`{}`, typed + `.data: expected map, got &{[a]}`, `data must be an object, not a list`},
		"applied, a value of several lines":     {`{}`, typed + ".data: expected map, got &{s3cret\nand more}", `data must be an object`},
		"applied, two mistakes": {
			`{}`, typed + "errors:\n  .data.a: expected string, got &value.valueUnstructured{Value:1}\n  .data.b: expected string, got &value.valueUnstructured{Value:2}",
			`data.a must be a string, not a number (write it in quotes); data.b must be a string, not a number (write it in quotes)`,
		},
		"applied, a mistake and another one": {
			`{}`, typed + "errors:\n  .spec.replica: field not declared in schema\n  .spec.replicas: expected numeric (int or float), got bool",
			`the cluster does not know the field spec.replica (did you mean spec.replicas?); spec.replicas must be a number, not a boolean`,
		},
		"applied, an unknown field": {`{}`, typed + `.spec.replica: field not declared in schema`, `the cluster does not know the field spec.replica (did you mean spec.replicas?)`},
		"applied, an unknown field of an item": {
			`{}`, typed + `.spec.containers[name="a.b"].imag: field not declared in schema`,
			`the cluster does not know the field spec.containers[name="a.b"].imag (did you mean spec.containers[name="a.b"].image?)`,
		},
		"applied, an unknown field that is near none": {`{}`, typed + `.nonsense: field not declared in schema`, `the cluster does not know the field nonsense`},
		"applied, a value without path":               {`{}`, proper + `json: cannot unmarshal bool into Go value of type int32`, `one of its values must be a whole number, not a boolean`},
		"applied, half a replica":                     {`{}`, proper + `cannot convert float64 to int32`, `one of its numbers must be a whole number`},
		"after other words": {
			`{}`, `it was not deleted, since it could not be created again: ` + typed + `.spec.replicas: expected numeric (int or float), got string`,
			`it was not deleted, since it could not be created again: spec.replicas must be a number, not a string (write it without quotes)`,
		},
		"what is plain stays": {
			`{}`, `Deployment.apps "shop" is invalid: spec.selector: Required value`, `Deployment.apps "shop" is invalid: spec.selector: Required value`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.New(test.err)
			got := inPlainWords(err, []byte(test.body), shop)
			if got.Error() != test.want {
				t.Errorf("it says\n%s\nwant\n%s", got, test.want)
			}
			if !errors.Is(got, err) {
				t.Error("it is another error")
			}
		})
	}
}

// described is a type with these properties.
func described(t *testing.T, properties string) *openapi.Type {
	t.Helper()
	document, err := yaml.YAMLToJSON([]byte(`components: {schemas: {shop: {properties: ` + properties + `, x-kubernetes-group-version-kind: [{group: "", version: v1, kind: Shop}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Shop"}
	types, err := openapi.Read(document, func(schema.GroupVersionKind) reflect.Type { return nil }, kind)
	if err != nil {
		t.Fatal(err)
	}
	return types[kind]
}
