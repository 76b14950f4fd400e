// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// phantoms are children that the host stores in another form than the hook answers.
var phantoms = map[string]string{
	"server defaults": `{apiVersion: apps/v1, kind: Deployment, spec: {
		selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}, creationTimestamp: null}, spec: {containers: [{name: c, image: x, ports: [{containerPort: 80}]}]}}}}`,
	"nulls": `{apiVersion: v1, kind: ConfigMap, metadata: {annotations: null}, data: {a: "1", b: null}, binaryData: null}`,
	"nulls that the host fills in": `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: null, strategy: null,
		selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {restartPolicy: null, containers: [{name: c, image: x, imagePullPolicy: null}]}}}}`,
	"one port for TCP and UDP": `{apiVersion: v1, kind: Service, spec: {selector: {app: x}, ports: [{name: a, port: 53, protocol: TCP}, {name: b, port: 53, protocol: UDP}]}}`,
	"one port of a container for TCP and UDP": `{apiVersion: apps/v1, kind: Deployment, spec: {selector: {matchLabels: {app: x}},
		template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: x, ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]}]}}}}`,
	"containers without names": `{apiVersion: GADGET, kind: Gadget, spec: {containers: [{image: x}, {image: z}]}}`,
	"what the cluster adds to a Pod": `{apiVersion: v1, kind: Pod, spec: {tolerations: [{key: a, operator: Exists}], volumes: [{name: v, emptyDir: {}}],
		containers: [{name: c, image: x, volumeMounts: [{name: v, mountPath: /v}]}]}}`,
	"numbers written 10.0": `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: TEN,
		selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: x}]}}}}`,
	"numbers written 10.0 in a custom resource": `{apiVersion: FREE, kind: Free, spec: {size: TEN}}`,
	"quantities": `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: "0.5", memory: "1e6"}}},
		{name: d, image: x, resources: {limits: {cpu: 2}}}]}}`,
	"empty maps":                                `{apiVersion: v1, kind: ConfigMap, metadata: {labels: {}, annotations: {}, finalizers: []}, data: {}, binaryData: {}}`,
	"empty and zero fields":                     `{apiVersion: v1, kind: Pod, spec: {hostNetwork: false, nodeName: "", serviceAccountName: "", nodeSelector: {}, initContainers: [], containers: [{name: c, image: x, tty: false, resources: {limits: {}}, env: []}]}}`,
	"empty lists":                               `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, rules: []}`,
	"empty fields that are kept":                `{apiVersion: v1, kind: Pod, spec: {volumes: [{name: v, emptyDir: {}}], securityContext: {}, containers: [{name: c, image: x, securityContext: {}}]}}`,
	"stringData":                                `{apiVersion: v1, kind: Secret, stringData: {a: text}}`,
	"fields that do not exist":                  `{apiVersion: GADGET, kind: Gadget, spec: {flag: false, nonsense: {a: 1}}, more: 1}`,
	"fields that a Pod has not":                 `{apiVersion: v1, kind: Pod, spec: {nonsense: 1, containers: [{name: c, image: x, more: [1]}]}, data: {a: b}}`,
	"defaults of a schema":                      `{apiVersion: GADGET, kind: Gadget, spec: {empty: {}, list: [], ports: [{port: 53, protocol: UDP}, {port: 53}], containers: []}}`,
	"a status":                                  `{apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: x}]}, status: {phase: Failed}}`,
	"system fields":                             `{apiVersion: v1, kind: ConfigMap, metadata: {creationTimestamp: null, selfLink: /x, generation: 7}, data: {a: "1"}}`,
	"an atomic list with defaults in its items": `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, ingress: [{ports: [{port: 80}, {port: 81, protocol: UDP}]}]}}`,
	"zeros that the host fills in":              `{apiVersion: v1, kind: Service, spec: {type: NodePort, clusterIP: "", sessionAffinity: "", selector: {app: x}, ports: [{name: a, port: 80, nodePort: 0, targetPort: 0}]}}`,
	"a Job":                                     `{apiVersion: batch/v1, kind: Job, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}`,
}

// Changes that the host itself makes are no difference: neither while the server runs nor after a
// restart, when it does not know what it wrote.
func TestPhantomDifferencesAreNoDifferences(t *testing.T) {
	var controllers []*singleChildren
	for _, method := range []v1alpha1.ChildUpdateMethod{v1alpha1.ChildUpdateInPlace, v1alpha1.ChildUpdateRecreate} {
		o := newSingleChildren(t, method, phantoms)
		o.createAll()
		from := env.AuditEnd(o)
		o.waitUntilSynced("quiet", anyRequest)
		o.expectNoChildWrites("while the server runs", from)
		controllers = append(controllers, o)
	}
	env.StopServer(t)
	from := env.AuditEnd(t)
	env.StartServer(t)
	for _, o := range controllers {
		o.waitUntilSynced("restarted", anyRequest)
		o.expectNoChildWrites("after a restart", from)
	}
}
