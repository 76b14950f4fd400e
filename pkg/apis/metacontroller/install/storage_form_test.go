// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// What is stored is what a client sent, with the defaults that the CRDs of Metacontroller 4.17 had,
// and nothing else.
func TestStoredForm(t *testing.T) {
	tests := map[string]struct {
		sent   string
		stored string // empty if it is what was sent
	}{
		"a composite controller gets the version of its hooks and nothing else": {
			sent: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: catset-controller}
spec:
  parentResource: {apiVersion: ctl.example.com/v1, resource: catsets}
  childResources:
  - {apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate}}
  hooks:
    sync: {webhook: {url: "http://hooks.example/sync"}}
    finalize: {version: v2}`,
			stored: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: catset-controller}
spec:
  parentResource: {apiVersion: ctl.example.com/v1, resource: catsets}
  childResources:
  - {apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate}}
  hooks:
    sync: {version: v1, webhook: {url: "http://hooks.example/sync"}}
    finalize: {version: v2}`,
		},
		"the names of keys in Secrets and ConfigMaps and the authorization scheme are filled in": {
			sent: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: tls}
spec:
  resources: []
  endpointConfigs:
  - host: a
    caBundle: {secretRef: {name: ca, namespace: ns}}
    clientTLS: {secretRef: {name: tls, namespace: ns}}
    authorization: {secretRef: {name: token, namespace: ns, key: token}}
  - host: b
    caBundle: {configMapRef: {name: ca, namespace: ns}}
    basicAuth: {secretRef: {name: user, namespace: ns}}`,
			stored: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: tls}
spec:
  resources: []
  endpointConfigs:
  - host: a
    caBundle: {secretRef: {name: ca, namespace: ns, key: ca.crt}}
    clientTLS: {secretRef: {name: tls, namespace: ns}, certKey: tls.crt, privateKeyKey: tls.key}
    authorization: {type: Bearer, secretRef: {name: token, namespace: ns, key: token}}
  - host: b
    caBundle: {configMapRef: {name: ca, namespace: ns, key: ca.crt}}
    basicAuth: {secretRef: {name: user, namespace: ns}, usernameKey: username, passwordKey: password}`,
		},
		"what was chosen is kept, also where it is empty or the default of a later stage": {
			sent: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: chosen}
spec:
  parentResource:
    apiVersion: v1
    resource: configmaps
    labelSelector: {}
    ignoreStatusChanges: false
    revisionHistory: {fieldPaths: []}
  childResources:
  - {apiVersion: v1, resource: pods, updateStrategy: {statusChecks: {conditions: []}}}
  - {apiVersion: v1, resource: secrets, updateStrategy: {}}
  endpointConfigs: []
  namespaces: []
  relatedResources: []
  resyncOn: []
  paused: false
  generateSelector: false
  resyncPeriodSeconds: 0
  hooks:
    sync:
      version: v2
      webhook:
        service: {name: hooks, namespace: ns, port: 80, protocol: http}
        path: ""
        timeout: 0s
        etag: {enabled: false, cacheTimeoutSeconds: 0}
        responseUnMarshallMode: loose
        caBundle: {inline: ""}
    preUpdateChild: {version: v1}`,
		},
		"so it is in a decorator controller": {
			sent: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: chosen}
spec:
  resources:
  - {apiVersion: v1, resource: pods, annotationSelector: {matchAnnotations: {}, matchExpressions: []}}
  attachments: []
  endpointConfigs: []
  namespaces: []
  relatedResources: []
  resyncOn: []
  paused: false`,
		},
		"a controller revision keeps whatever is in parentPatch": {
			sent: `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {name: rev, namespace: ns}
parentPatch: {spec: {template: {anything: [1, 2.5, null, {}]}}}
children:
- {apiGroup: "", kind: Pod, names: [a, b]}
- {apiGroup: apps, kind: Deployment, names: []}`,
		},
	}
	codec := newCodec(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object, err := runtime.Decode(codec, toJSON(t, test.sent))
			if err != nil {
				t.Fatalf("decoding what was sent: %v", err)
			}
			stored, err := runtime.Encode(codec, object)
			if err != nil {
				t.Fatalf("encoding for storage: %v", err)
			}
			want := test.stored
			if want == "" {
				want = test.sent
			}
			if diff := cmp.Diff(toMap(t, toJSON(t, want)), toMap(t, stored)); diff != "" {
				t.Errorf("stored object differs (-want +got):\n%s", diff)
			}
		})
	}
}

// The CRD of Metacontroller 4.17 let in texts that its own client could not read; one such object
// broke the list of all.
func TestAMalformedTimeoutDoesNotKeepAnObjectFromBeingRead(t *testing.T) {
	stored := toJSON(t, `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: old}
spec:
  parentResource: {apiVersion: v1, resource: configmaps}
  hooks: {sync: {version: v1, webhook: {url: "http://hooks.example/sync", timeout: 10 seconds}}}`)
	codec := newCodec(t)

	object, err := runtime.Decode(codec, stored)
	if err != nil {
		t.Fatalf("decoding a stored object with an invalid timeout: %v", err)
	}
	timeout := object.(*v1alpha1.CompositeController).Spec.Hooks.Sync.Webhook.Timeout
	if timeout == nil || *timeout != "10 seconds" {
		t.Errorf("timeout = %v, want the stored text", timeout)
	}
	written, err := runtime.Encode(codec, object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(toMap(t, stored), toMap(t, written)); diff != "" {
		t.Errorf("the object changed by being read and written (-want +got):\n%s", diff)
	}
}

// newCodec returns the codec that objects are stored with.
func newCodec(t *testing.T) runtime.Codec {
	t.Helper()
	return serializer.NewCodecFactory(newScheme(t)).LegacyCodec(v1alpha1.SchemeGroupVersion)
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func toMap(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}
