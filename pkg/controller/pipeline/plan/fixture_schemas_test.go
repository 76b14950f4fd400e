// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

var (
	services = typeOf("", "v1", "services", "Service", true)
	secrets  = typeOf("", "v1", "secrets", "Secret", true)
	roles    = typeOf("rbac.authorization.k8s.io", "v1", "roles", "Role", true)
	gadgets  = typeOf("example.com", "v1", "gadgets", "Gadget", true)
)

// published is cut down from what a host publishes of these types.
const published = `
components:
  schemas:
    Meta: &meta
      allOf: [{$ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]
    io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta:
      properties:
        name: {}
        namespace: {}
        generateName: {}
        uid: {}
        resourceVersion: {}
        creationTimestamp: {}
        labels: {additionalProperties: {type: string}}
        annotations: {additionalProperties: {type: string}}
        finalizers: {items: {type: string}, x-kubernetes-list-type: set}
        ownerReferences: {items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [uid]}
    io.k8s.apimachinery.pkg.api.resource.Quantity: {}
    Kind: &kind {type: string}
    ConfigMap:
      properties: {apiVersion: *kind, kind: *kind, metadata: *meta, immutable: {type: boolean}, data: {additionalProperties: {type: string}}, binaryData: {additionalProperties: {type: string}}}
      x-kubernetes-group-version-kind: [{group: "", version: v1, kind: ConfigMap}]
    Secret:
      properties: {apiVersion: *kind, kind: *kind, metadata: *meta, type: {}, data: {additionalProperties: {type: string}}, stringData: {additionalProperties: {type: string}}}
      x-kubernetes-group-version-kind: [{group: "", version: v1, kind: Secret}]
    Role:
      properties: {apiVersion: *kind, kind: *kind, metadata: *meta, rules: {items: {type: object}, x-kubernetes-list-type: atomic}}
      x-kubernetes-group-version-kind: [{group: rbac.authorization.k8s.io, version: v1, kind: Role}]
    Service:
      properties:
        apiVersion: *kind
        kind: *kind
        metadata: *meta
        spec:
          properties:
            clusterIP: {}
            ports:
              x-kubernetes-list-type: map
              x-kubernetes-list-map-keys: [port, protocol]
              items: {properties: {name: {}, port: {type: integer}, protocol: {type: string, default: TCP}, targetPort: {}, nodePort: {}}}
      x-kubernetes-group-version-kind: [{group: "", version: v1, kind: Service}]
    Pod:
      properties:
        apiVersion: *kind
        kind: *kind
        metadata: *meta
        status: {type: object}
        spec:
          properties:
            hostNetwork: {type: boolean}
            nodeName: {type: string}
            nodeSelector: {additionalProperties: {type: string}}
            restartPolicy: {type: string}
            terminationGracePeriodSeconds: {type: integer}
            tolerations: {x-kubernetes-list-type: atomic, items: {properties: {key: {}, operator: {}, effect: {}}}}
            volumes:
              x-kubernetes-list-type: map
              x-kubernetes-list-map-keys: [name]
              items: {properties: {name: {type: string}, emptyDir: {type: object, properties: {medium: {type: string}}}, projected: {type: object}}}
            containers:
              x-kubernetes-list-type: map
              x-kubernetes-list-map-keys: [name]
              items:
                properties:
                  name: {type: string, default: ""}
                  image: {type: string}
                  imagePullPolicy: {type: string}
                  args: {items: {type: string}, x-kubernetes-list-type: atomic}
                  volumeMounts: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [mountPath], items: {properties: {name: {}, mountPath: {}}}}
                  ports:
                    x-kubernetes-list-type: map
                    x-kubernetes-list-map-keys: [containerPort, protocol]
                    items: {properties: {name: {}, containerPort: {type: integer}, protocol: {type: string, default: TCP}}}
                  resources:
                    properties:
                      limits: {additionalProperties: {$ref: "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}}
      x-kubernetes-group-version-kind: [{group: "", version: v1, kind: Pod}]
    Deployment:
      properties:
        apiVersion: *kind
        kind: *kind
        metadata: *meta
        spec:
          properties:
            replicas: {type: integer}
            paused: {type: boolean}
            template: {properties: {metadata: *meta, spec: {properties: {containers: {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {properties: {name: {type: string}, image: {type: string}}}}}}}}
        status: {properties: {readyReplicas: {type: integer}}}
      x-kubernetes-group-version-kind: [{group: apps, version: v1, kind: Deployment}]
    Web:
      properties:
        metadata: *meta
        spec: {properties: {text: {type: string}}}
        status: {properties: {ready: {type: integer}}}
      x-kubernetes-group-version-kind: [{group: ctl.example, version: v1, kind: Web}]
    Fleet:
      properties:
        metadata: *meta
        spec: {properties: {text: {type: string}}}
      x-kubernetes-group-version-kind: [{group: ctl.example, version: v1, kind: Fleet}]
    Gadget:
      properties:
        apiVersion: *kind
        kind: *kind
        metadata: *meta
        spec:
          properties:
            flag: {type: boolean}
            cpu: {type: string}
            level: {type: integer}
            empty: {type: object, properties: {x: {type: string}}}
            names: {items: {type: string}, x-kubernetes-list-type: set}
            plain: {items: {properties: {name: {}, image: {}, pull: {}}}}
            ports: {x-kubernetes-list-type: atomic, items: {properties: {port: {}, protocol: {}}}}
            free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Gadget}]
`

// described is how the host describes a type.
func described(t testing.TB, of object.Type) *openapi.Type {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(published))
	if err != nil {
		t.Fatal(err)
	}
	goTypes := map[schema.GroupVersionKind]reflect.Type{
		configMaps.GroupVersionKind(): reflect.TypeFor[corev1.ConfigMap](), secrets.GroupVersionKind(): reflect.TypeFor[corev1.Secret](),
		services.GroupVersionKind(): reflect.TypeFor[corev1.Service](), pods.GroupVersionKind(): reflect.TypeFor[corev1.Pod](),
		roles.GroupVersionKind(): reflect.TypeFor[rbacv1.Role](),
	}
	types, err := openapi.Read(raw, func(kind schema.GroupVersionKind) reflect.Type { return goTypes[kind] }, of.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	if types[of.GroupVersionKind()] == nil {
		t.Fatalf("%s is not described", of)
	}
	return types[of.GroupVersionKind()]
}
