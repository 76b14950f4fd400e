// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const websites = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: websites, kind: Website}
  versions:
  - name: v1
    served: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [text]
            properties:
              text: {type: string, minLength: 1}
              replicas: {type: integer, minimum: 0, default: 1}
              port: {x-kubernetes-int-or-string: true}
              hint: {type: string, nullable: true, default: none}
              themes: {type: object, additionalProperties: {type: object, properties: {color: {type: string, default: white}}}}
              pages: {type: array, items: {type: object, properties: {path: {type: string, default: /}}}}
              anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {ready: {type: integer}}}
  - {name: v1beta1, served: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v0, served: false}
`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return object
}

func newTestTypes(t *testing.T) *Types {
	t.Helper()
	types, err := NewTypes([]*unstructured.Unstructured{parse(t, websites)})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestObjectsAreCompletedAsByACluster(t *testing.T) {
	types := newTestTypes(t)
	for name, test := range map[string]struct{ given, want string }{
		"a custom resource": {
			`{apiVersion: example.com/v1, kind: Website, metadata: {name: shop}, spec: {text: hi, port: http, themes: {dark: {}}, pages: [{}, {path: /a}]}}`,
			`{apiVersion: example.com/v1, kind: Website, metadata: {name: shop, namespace: default, generation: 1},
				spec: {text: hi, port: http, replicas: 1, hint: none, themes: {dark: {color: white}}, pages: [{path: /}, {path: /a}]}}`,
		},
		"what is given stays": {
			`{apiVersion: example.com/v1, kind: Website, metadata: {name: shop, namespace: a, generation: 7}, spec: {text: hi, port: 80, replicas: 0, hint: null, anything: {a: {b: c}}}}`,
			`{apiVersion: example.com/v1, kind: Website, metadata: {name: shop, namespace: a, generation: 7}, spec: {text: hi, port: 80, replicas: 0, hint: null, anything: {a: {b: c}}}}`,
		},
		"a null of a field that may not be null": {
			`{apiVersion: example.com/v1, kind: Website, metadata: {name: shop}, spec: {text: hi, replicas: null}}`,
			`{apiVersion: example.com/v1, kind: Website, metadata: {name: shop, namespace: default, generation: 1}, spec: {text: hi, replicas: 1, hint: none}}`,
		},
		"another version": {
			`{apiVersion: example.com/v1beta1, kind: Website, metadata: {name: shop}, a: b}`,
			`{apiVersion: example.com/v1beta1, kind: Website, metadata: {name: shop, namespace: default, generation: 1}, a: b}`,
		},
		"a cluster-scoped type": {`{apiVersion: v1, kind: Namespace, metadata: {name: a}}`, `{apiVersion: v1, kind: Namespace, metadata: {name: a, generation: 1}}`},
		"a type without a status": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}, data: {a: b}}`},
		"a Secret in plain text": {`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}`,
			`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default}, type: Opaque, data: {a: Yg==}}`},
	} {
		t.Run(name, func(t *testing.T) {
			object := parse(t, test.given)
			if err := types.Complete(object); err != nil {
				t.Fatal(err)
			}
			if at := object.GetCreationTimestamp(); object.GetUID() == "" || object.GetResourceVersion() == "" || at.IsZero() {
				t.Errorf("metadata is %v", object.Object["metadata"])
			}
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp"} {
				unstructured.RemoveNestedField(object.Object, "metadata", field)
			}
			if diff := cmp.Diff(parse(t, test.want).Object, object.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjectsThatAClusterWouldNotTake(t *testing.T) {
	types := newTestTypes(t)
	for name, test := range map[string]struct{ given, want string }{
		"a type that there is not": {`{apiVersion: example.com/v1, kind: Webside, metadata: {name: ` +
			`a}}`, "unknown type Webside of example.com/v1: add its CustomResourceDefinition"},
		"a version that is not served":   {`{apiVersion: example.com/v0, kind: Website, metadata: {name: a}}`, "its apiVersion is example.com/v0, but its kind exists only in example.com/v1, example.com/v1beta1"},
		"no name":                        {`{apiVersion: v1, kind: Pod}`, "it has no metadata.name"},
		"a namespace too much":           {`{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}`, "it is cluster-scoped, but has the namespace b"},
		"a required field":               {`{apiVersion: example.com/v1, kind: Website, metadata: {name: a}, spec: {}}`, "spec.text in body is required"},
		"a value that is too small":      {`{apiVersion: example.com/v1, kind: Website, metadata: {name: a}, spec: {text: a, replicas: -1}}`, "spec.replicas in body should be greater than or equal to 0"},
		"a value of another type":        {`{apiVersion: example.com/v1, kind: Website, metadata: {name: a}, spec: {text: 1}}`, "spec.text in body must be of type string"},
		"an unknown field":               {`{apiVersion: example.com/v1, kind: Website, metadata: {name: a}, spec: {text: a, replica: 1}}`, "the type Website of example.com/v1 has no field spec.replica, did you mean spec.replicas?"},
		"an unknown field of Kubernetes": {`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {contaners: []}}`, "the type Pod of v1 has no field spec.contaners, did you mean spec.containers?"},
		"an unknown field of ours":       {`{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: a}, spec: {hook: {}}}`, `unknown field "spec.hook"`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := types.Complete(parse(t, test.given)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestAControllerHasItsDefaults(t *testing.T) {
	object := parse(t, `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: a}
spec: {parentResource: {apiVersion: example.com/v1, resource: websites}, hooks: {sync: {webhook: {url: "http://hook"}}}}
`)
	if err := newTestTypes(t).Complete(object); err != nil {
		t.Fatal(err)
	}
	version, _, _ := unstructured.NestedString(object.Object, "spec", "hooks", "sync", "version")
	if version != "v1" || object.GetKind() != "CompositeController" {
		t.Errorf("the controller is %v", object.Object)
	}
}

func TestADefinitionHasTheNameOfItsType(t *testing.T) {
	definition := parse(t, strings.Replace(websites, "websites.example.com", "sites.example.com", 1))
	if _, err := NewTypes([]*unstructured.Unstructured{definition}); err == nil || !strings.Contains(err.Error(), `its name must be "websites.example.com"`) {
		t.Errorf("the error is %v", err)
	}
}

func TestTheSameNameHasTheSameUID(t *testing.T) {
	types := newTestTypes(t)
	uid := func(text string) string {
		object := parse(t, text)
		if err := types.Complete(object); err != nil {
			t.Fatal(err)
		}
		return string(object.GetUID())
	}
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: a}}`
	if first, again := uid(pod), uid(pod); first != again || len(first) != 36 {
		t.Errorf("the UIDs are %s and %s", first, again)
	}
	if uid(pod) == uid(`{apiVersion: v1, kind: Service, metadata: {name: a}}`) || uid(pod) == uid(`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}}`) {
		t.Error("two objects have the same UID")
	}
}
