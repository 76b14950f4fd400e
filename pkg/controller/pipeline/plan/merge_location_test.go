// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A phantom is a difference between what a hook wants and what the host has made of it.
type phantom struct {
	of      object.Type
	desired string // but for apiVersion, kind and metadata
	host    string // what the host has made of it; the same if it is empty
	// changed is what another writer may make of it, so that the difference is real.
	changed string
	// undescribed is true if the host does not describe the type.
	undescribed bool
}

var phantoms = map[string]phantom{
	"server defaults": {
		of: pods, desired: `spec: {containers: [{name: c, image: x}]}`,
		host:    `spec: {restartPolicy: Always, containers: [{name: c, image: x, imagePullPolicy: Always}]}, status: {phase: Running}`,
		changed: `spec: {restartPolicy: Always, containers: [{name: c, image: z, imagePullPolicy: Always}]}`,
	},
	"Q19 a null": {
		of: configMaps, desired: `data: {a: "1", b: null}, binaryData: null`, host: `data: {a: "1"}`, changed: `data: {a: "2"}`,
	},
	"Q19 a null that the host makes something of": {
		of: configMaps, desired: `data: {a: "1", b: null}`, host: `data: {a: "1", b: ""}`, changed: `data: {a: "1", b: x}`,
	},
	"Q19 a null that the host fills in": {
		of: pods, desired: `spec: {restartPolicy: null, containers: [{name: c, imagePullPolicy: null}]}`,
		host:    `spec: {restartPolicy: Always, containers: [{name: c, imagePullPolicy: Always}]}`,
		changed: `spec: {restartPolicy: Never, containers: [{name: c, imagePullPolicy: Always}]}`,
	},
	"one port for TCP and UDP": {
		of: services, desired: `spec: {ports: [{port: 53}, {port: 53, protocol: UDP}]}`,
		host:    `spec: {clusterIP: 10.0.0.1, ports: [{port: 53, protocol: TCP, targetPort: 53}, {port: 53, protocol: UDP, targetPort: 53}]}`,
		changed: `spec: {clusterIP: 10.0.0.1, ports: [{port: 53, protocol: TCP, targetPort: 53}]}`,
	},
	"containers without names": {
		of: gadgets, desired: `spec: {plain: [{image: x}, {image: z}]}`, host: `spec: {plain: [{image: x, pull: Always}, {image: z, pull: Always}]}`,
		changed: `spec: {plain: [{image: z, pull: Always}, {image: x, pull: Always}]}`,
	},
	"containers without names in a type that is not described": {
		of: gadgets, undescribed: true, desired: `spec: {plain: [{image: x}]}`, host: `spec: {plain: [{image: x, pull: Always}]}`, changed: `spec: {plain: []}`,
	},
	"a container without a name": {
		of: pods, desired: `spec: {containers: [{image: x}]}`, host: `spec: {containers: [{image: x, imagePullPolicy: Always}]}`, changed: `spec: {containers: [{image: z}]}`,
	},
	"tolerations that the cluster adds": {
		of: pods, desired: `spec: {tolerations: [{key: a}]}`, host: `spec: {tolerations: [{key: a}, {key: not-ready, operator: Exists, effect: NoExecute}]}`,
		changed: `spec: {tolerations: [{key: not-ready, operator: Exists, effect: NoExecute}]}`,
	},
	"volumes that the cluster adds": {
		of: pods, desired: `spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, volumeMounts: [{name: v, mountPath: /v}]}]}`,
		host: `spec: {volumes: [{name: v, emptyDir: {}}, {name: token, projected: {defaultMode: 420}}],
			containers: [{name: c, volumeMounts: [{name: v, mountPath: /v}, {name: token, mountPath: /var/run/secrets}]}]}`,
		changed: `spec: {volumes: [{name: v}], containers: [{name: c, volumeMounts: [{name: v, mountPath: /v}]}]}`,
	},
	"a number written 10.0": {
		of: pods, desired: `spec: {terminationGracePeriodSeconds: 1.0e1}`, host: `spec: {terminationGracePeriodSeconds: 10}`, changed: `spec: {terminationGracePeriodSeconds: 11}`,
	},
	"quantities written differently": {
		of: pods, desired: `spec: {containers: [{name: c, resources: {limits: {cpu: 1000m, memory: 1024Mi, a: "0.5", b: 2, c: 0.5}}}]}`,
		host:    `spec: {containers: [{name: c, resources: {limits: {cpu: "1", memory: 1Gi, a: 500m, b: "2", c: 500m}}}]}`,
		changed: `spec: {containers: [{name: c, resources: {limits: {cpu: "2", memory: 1Gi, a: 500m, b: "2", c: 500m}}}]}`,
	},
	"quantities in a type that is not described": {
		of: pods, undescribed: true, desired: `spec: {containers: [{name: c, resources: {limits: {cpu: 1000m}}}]}`,
		host:    `spec: {containers: [{name: c, resources: {limits: {cpu: "1"}}}]}`,
		changed: `spec: {containers: [{name: c, resources: {limits: {cpu: "2"}}}]}`,
	},
	"empty maps":                       {of: configMaps, desired: `data: {a: "1"}, binaryData: {}`, host: `data: {a: "1"}`, changed: `data: {}`},
	"an empty list":                    {of: roles, desired: `rules: []`, host: `rules: null`, changed: `rules: [{verbs: [get]}]`},
	"fields that hold nothing":         {of: pods, desired: `spec: {hostNetwork: false, nodeName: "", nodeSelector: {}, containers: [{name: c, resources: {limits: {}}}]}`, host: `spec: {containers: [{name: c, resources: {}}]}`, changed: `spec: {hostNetwork: true, containers: [{name: c}]}`},
	"an object that holds nothing":     {of: pods, desired: `spec: {containers: [{name: c, resources: {limits: {}}}]}`, host: `spec: {containers: [{name: c}]}`, changed: `spec: {containers: []}`},
	"a field that the type has not":    {of: gadgets, desired: `spec: {level: 1, nonsense: {a: 1}}, more: [1]`, host: `spec: {level: 1}`, changed: `spec: {level: 2}`},
	"a status":                         {of: pods, desired: `spec: {nodeName: n}, status: {phase: Failed}`, host: `spec: {nodeName: n}, status: {phase: Running}`, changed: `spec: {nodeName: m}`},
	"stringData of a Secret":           {of: secrets, desired: `data: {b: Yg==}, stringData: {a: text}`, host: `type: Opaque, data: {a: dGV4dA==, b: Yg==}`, changed: `type: Opaque, data: {a: eA==, b: Yg==}`},
	"defaults in an atomic list":       {of: gadgets, desired: `spec: {ports: [{port: 80}]}`, host: `spec: {ports: [{port: 80, protocol: TCP}]}`, changed: `spec: {ports: [{port: 81, protocol: TCP}]}`},
	"what an admission webhook writes": {of: pods, desired: `spec: {containers: [{name: c, image: x, args: [a]}]}`, host: `spec: {containers: [{name: c, image: mirror/x, args: [wrap, a]}, {name: sidecar, image: z}]}`, changed: `spec: {containers: [{name: c, image: mirror/x, args: [a, a]}, {name: sidecar, image: z}]}`},
	"an empty volume that means a lot": {of: pods, desired: `spec: {volumes: [{name: v, emptyDir: {}}]}`, changed: `spec: {volumes: [{name: v}]}`},
	"empty fields of a resource":       {of: gadgets, desired: `spec: {flag: false, empty: {}, level: 0}`, changed: `spec: {empty: {}, level: 0}`},
	"a text that could be a quantity":  {of: gadgets, desired: `spec: {cpu: 1000m}`, changed: `spec: {cpu: "1"}`},
	"a key that could be a quantity":   {of: configMaps, desired: `data: {cpu: 1000m}`, changed: `data: {cpu: "1"}`},
	"a value of a set":                 {of: gadgets, desired: `spec: {names: [a, b]}`, host: `spec: {names: [a, b, theirs]}`, changed: `spec: {names: [a, theirs]}`},
}

// With an empty cache, what the host made of a child is no difference, and what another writer made
// of it is one.
func TestPhantomDifferences(t *testing.T) {
	for name, phantom := range phantoms {
		for _, method := range []Method{Recreate, InPlace} {
			t.Run(fmt.Sprintf("%s, method %s", name, method), func(t *testing.T) {
				w := newWorld(t, web, phantom.of).method(method)
				if !phantom.undescribed {
					w.schemas[phantom.of] = described(t, phantom.of)
				}
				if phantom.host == "" {
					phantom.host = phantom.desired
				}
				desired := phantom.child(phantom.desired)
				w.children[phantom.of] = []*object.Object{w.made(phantom.child(phantom.host), desired)}
				planned := w.plan(w.answer(desired))
				if got := writes(planned); len(got) > 0 || len(planned.Refused) > 0 {
					t.Errorf("writes %v because %s, refuses %v", got, planned.Steps[0].Why, planned.Refused)
				}
				if len(w.upToDate.objects) == 0 {
					t.Error("it does not remember what it found")
				}
				w.children[phantom.of] = []*object.Object{w.changed(phantom.of, phantom.child(phantom.changed))}
				if planned = w.plan(w.answer(desired)); len(writes(planned)) != 1 {
					t.Errorf("after somebody changed it, it writes %v", writes(planned))
				}
			})
		}
	}
}

// If the hook now wants something else, the difference is real.
func TestAChangeOfMindIsWrittenOverWhatTheHostHasMade(t *testing.T) {
	for name, phantom := range phantoms {
		if phantom.host == "" || name == "a value of a set" || strings.HasPrefix(name, "Q19 a null that") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, phantom.of).method(InPlace)
			w.schemas[phantom.of] = described(t, phantom.of)
			w.children[phantom.of] = []*object.Object{w.made(phantom.child(phantom.host), phantom.child(phantom.desired))}
			if planned := w.plan(w.answer(phantom.child(phantom.changed))); len(writes(planned)) != 1 {
				t.Errorf("it writes %v", writes(planned))
			}
		})
	}
}

// child is a child of the phantom's type with some content.
func (p phantom) child(content string) string {
	return fmt.Sprintf(`{apiVersion: %s, kind: %s, metadata: {name: a, labels: {app: shop}}, %s}`, p.of.GroupVersion(), p.of.Kind, content)
}

// made is a child that the host has made of what was applied.
func (w *world) made(host, applied string) *object.Object {
	w.t.Helper()
	child := unstructured.Unstructured{Object: decode(w.t, parseYAML(w.t, host))}
	last := unstructured.Unstructured{Object: decode(w.t, parseYAML(w.t, applied))}
	last.SetNamespace(w.parent.Namespace)
	child.SetNamespace(w.parent.Namespace)
	child.SetAnnotations(labels.Set{object.LastAppliedAnnotation: canonical(w.t, last.Object)})
	child.SetOwnerReferences(append(child.GetOwnerReferences(), w.owner()))
	return w.stored(child.Object, "uid-of-a")
}

// changed is the child after others have given it another content.
func (w *world) changed(of object.Type, content string) *object.Object {
	w.t.Helper()
	child := decode(w.t, w.child(of, "a"))
	for name, value := range decode(w.t, parseYAML(w.t, content)) {
		if name != "metadata" {
			child[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	return w.storedBy("others", child, types.UID("uid-of-a"))
}

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
