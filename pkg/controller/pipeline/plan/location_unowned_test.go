// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Somebody may have taken over a field and let go of it, or have reset managedFields. What the field
// then holds is not what the host has made of the hook's value.
func TestAFieldThatNobodyOwnsIsPutBack(t *testing.T) {
	const (
		update    = `{"manager":"metacontroller","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":`
		metadata  = `"f:metadata":{"f:annotations":{".":{}},"f:labels":{"f:app":{}}}`
		container = `"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}`
	)
	tests := map[string]struct {
		of               object.Type
		desired, host    string
		managedFields    string
		described, holds bool
	}{
		"a value that is ours":      {of: configMaps, desired: `data: {a: "1", b: "1"}`, host: `data: {a: other, b: "1"}`, managedFields: update + `{"f:data":{"f:a":{},"f:b":{}}}}`, holds: true},
		"a value that is nobody's":  {of: configMaps, desired: `data: {a: "1", b: "1"}`, host: `data: {a: other, b: "1"}`, managedFields: update + `{"f:data":{".":{},"f:b":{}}}}`},
		"a value that is another's": {of: configMaps, desired: `data: {a: "1"}`, host: `data: {a: other}`, managedFields: update + `{` + metadata + `}},{"manager":"x","operation":"Update","fieldsV1":{"f:data":{"f:a":{}}}}`},
		"no content is anybody's":   {of: configMaps, desired: `data: {a: "1"}`, host: `data: {a: other}`, managedFields: update + `{` + metadata + `}}`},
		"nothing is known of us":    {of: configMaps, desired: `data: {a: "1"}`, host: `data: {a: other}`, managedFields: `{"manager":"x","operation":"Update","fieldsV1":{"f:data":{}}}`},
		"nothing is known":          {of: configMaps, desired: `data: {a: "1"}`, host: `data: {a: other}`, managedFields: ``},
		"all below is ours":         {of: configMaps, desired: `data: {a: "1"}`, host: `data: {a: other}`, managedFields: update + `{"f:data":{}}}`, holds: true},
		"a field of an item that is ours": {
			of: pods, described: true, holds: true, desired: `spec: {containers: [{name: c, image: x}]}`, host: `spec: {containers: [{name: c, image: mirror/x}]}`,
			managedFields: update + `{"f:spec":{` + container + `,"f:image":{}}}}}}`,
		},
		"a field of an item that is nobody's": {
			of: pods, described: true, desired: `spec: {containers: [{name: c, image: x}]}`, host: `spec: {containers: [{name: c, image: other}]}`,
			managedFields: update + `{"f:spec":{` + container + `}}}}}`,
		},
		"a list that is nobody's": {
			of: pods, described: true, desired: `spec: {containers: [{name: c, args: [a]}]}`, host: `spec: {containers: [{name: c, args: [b]}]}`,
			managedFields: update + `{"f:spec":{` + container + `}}}}}`,
		},
		// Nobody owns what was sent as no value, and what the host fills in for it.
		"an empty text that the host fills in": {
			of: services, described: true, holds: true, desired: `spec: {clusterIP: ""}`, host: `spec: {clusterIP: 10.0.0.1}`, managedFields: update + `{"f:spec":{"f:ports":{}}}}`,
		},
		"a zero in an item that the host fills in": {
			of: services, described: true, holds: true, desired: `spec: {ports: [{port: 80, nodePort: 0}]}`, host: `spec: {ports: [{port: 80, protocol: TCP, nodePort: 30080}]}`,
			managedFields: update + `{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}}`,
		},
		"a null that the host fills in": {
			of: pods, described: true, holds: true, desired: `spec: {restartPolicy: null}`, host: `spec: {restartPolicy: Always}`, managedFields: update + `{"f:spec":{"f:x":{}}}}`,
		},
		"an empty text that the host fills in, not described": {
			of: services, holds: true, desired: `spec: {clusterIP: ""}`, host: `spec: {clusterIP: 10.0.0.1}`, managedFields: update + `{"f:spec":{"f:ports":{}}}}`,
		},
		"a zero that the host fills in, not described": {
			of: services, holds: true, desired: `spec: {x: 0, y: false, z: [], n: null}`, host: `spec: {x: 1, y: true, z: [a], n: 1}`, managedFields: update + `{"f:spec":{"f:ports":{}}}}`,
		},
		"a zero that is a value": {
			of: pods, described: true, desired: `spec: {terminationGracePeriodSeconds: 0}`, host: `spec: {terminationGracePeriodSeconds: 30}`, managedFields: update + `{"f:spec":{"f:x":{}}}}`,
		},
		"a zero of a custom resource": {
			of: gadgets, described: true, desired: `spec: {level: 0}`, host: `spec: {level: 3}`, managedFields: update + `{"f:spec":{"f:flag":{}}}}`,
		},
	}
	for name, test := range tests {
		for method, changes := range map[Method]pipeline.Op{InPlace: pipeline.Update, Recreate: pipeline.Recreate} {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := newWorld(t, web, test.of).method(method)
				if test.described {
					w.schemas[test.of] = described(t, test.of)
				}
				p := phantom{of: test.of}
				made := w.made(p.child(test.host), p.child(test.desired))
				content := unstructured.Unstructured{Object: decode(t, made)}
				encoded := strings.Replace(canonical(t, content.Object), `"metadata":{`, `"metadata":{"managedFields":[`+test.managedFields+`],`, 1)
				w.children[test.of] = []*object.Object{parseJSON(t, []byte(encoded))}
				want := changes
				if test.holds {
					want = pipeline.Keep
				}
				if step := stepFor(t, w.plan(w.answer(p.child(test.desired))), "a"); step.Op != want {
					t.Errorf("%s because %s, want %s", step.Op, step.Why, want)
				}
			})
		}
	}
}
