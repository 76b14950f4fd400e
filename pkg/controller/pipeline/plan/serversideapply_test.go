// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// serverSide has all child types applied by the host, with an update method.
func (w *world) serverSide(method Method) *world {
	for of := range w.children {
		w.strategies[of.GroupKind()] = Strategy{Method: method, Engine: ServerSideApply}
	}
	return w
}

// hasApplied adds a child that the parent controls. Server-side apply owns the fields and the
// owner reference to the parent.
func (w *world) hasApplied(of object.Type, text, fields string) *world {
	w.t.Helper()
	child := unstructured.Unstructured{Object: decode(w.t, parseYAML(w.t, text))}
	if of.Namespaced {
		child.SetNamespace(w.parent.Namespace)
	}
	child.SetOwnerReferences(append(child.GetOwnerReferences(), w.owner()))
	stored := w.stored(child.Object, "uid-of-a")
	if fields != "" {
		stored.Applied = []byte(fields)
	}
	w.children[of] = append(w.children[of], stored)
	return w
}

// The fields of childA, and what else is owned with them.
const (
	ownerField = `"f:ownerReferences":{"k:{\"uid\":\"parent-uid\"}":{}}`
	fieldsOfA  = `{"f:metadata":{"f:labels":{"f:app":{}},` + ownerField + `},"f:data":{"f:key":{}}}`
)

func TestUpdateMethodsUnderServerSideApply(t *testing.T) {
	type outcome struct {
		op        pipeline.Op
		why, path string
	}
	keep := outcome{op: pipeline.Keep, why: "it is in its desired state"}
	differs := func(op pipeline.Op, path string) outcome {
		return outcome{op: op, why: "it differs, or has another field manager, at " + path, path: path}
	}
	tests := map[string]struct {
		observed, fields, desired string
		inPlace, recreate         outcome
	}{
		"a child that is missing": {
			desired: childA,
			inPlace: outcome{op: pipeline.Apply, why: whyMissing}, recreate: outcome{op: pipeline.Apply, why: whyMissing},
		},
		"a child that is the same": {observed: childA, fields: fieldsOfA, desired: childA, inPlace: keep, recreate: keep},
		"a child that differs": {
			observed: childA, fields: fieldsOfA, desired: childAChanged,
			inPlace: differs(pipeline.Apply, "data.key"), recreate: differs(pipeline.Recreate, "data.key"),
		},
		"a child with more of others": {
			observed: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop, theirs: "1"}}, data: {key: one, theirs: x}, immutable: true, status: {a: b}}`,
			fields:   fieldsOfA, desired: childA, inPlace: keep, recreate: keep,
		},
		"a child one of whose fields somebody changed": {
			observed: childAChanged, fields: strings.Replace(fieldsOfA, `"f:key":{}`, `"f:x":{}`, 1), desired: childA,
			inPlace: differs(pipeline.Apply, "data.key"), recreate: differs(pipeline.Recreate, "data.key"),
		},
		"a child one of whose fields has become somebody's with the same value": {
			observed: childA, fields: `{"f:metadata":{"f:labels":{"f:app":{}},` + ownerField + `}}`, desired: childA,
			inPlace: differs(pipeline.Apply, "data.key"), recreate: differs(pipeline.Recreate, "data.key"),
		},
		"a child of which a field is no longer wanted": {
			observed: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {key: one, old: x}}`,
			fields:   strings.Replace(fieldsOfA, `"f:key":{}`, `"f:key":{},"f:old":{}`, 1), desired: childA,
			inPlace: differs(pipeline.Apply, "data.old"), recreate: differs(pipeline.Recreate, "data.old"),
		},
		"a child that was never applied": {
			observed: childA, desired: childA,
			inPlace: differs(pipeline.Apply, "data.key"), recreate: differs(pipeline.Recreate, "data.key"),
		},
		"a number that is written differently, a null, and what belongs to the API server": {
			observed: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {key: 10}}`, fields: fieldsOfA,
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, uid: x, resourceVersion: "9", generation: 3, creationTimestamp: null, managedFields: [{manager: x}]}, data: {key: 10.0, nil: null}, status: {x: y}}`,
			inPlace: keep, recreate: keep,
		},
		"a child that is being deleted": {
			observed: strings.Replace(childA, "{name: a", "{name: a, "+dying, 1), fields: fieldsOfA, desired: childAChanged,
			inPlace: outcome{op: pipeline.Keep, why: "it is being deleted"}, recreate: outcome{op: pipeline.Keep, why: "it is being deleted"},
		},
	}
	for name, test := range tests {
		for method, want := range map[Method]outcome{InPlace: test.inPlace, Recreate: test.recreate} {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := newWorld(t, web, configMaps).serverSide(method)
				if test.observed != "" {
					w.hasApplied(configMaps, test.observed, test.fields)
				}
				step := stepFor(t, w.plan(w.answer(test.desired)), "a")
				if got := (outcome{step.Op, step.Why, step.Path}); got != want {
					t.Errorf("step is %+v, want %+v", got, want)
				}
				if (step.Body != nil) != (want.op != pipeline.Keep) || step.Observed != w.child(configMaps, "a") {
					t.Errorf("body is %s, observed %v", step.Body, step.Observed)
				}
			})
		}
	}
}

func TestAnExistingChildIsLeftAloneUnderOnDelete(t *testing.T) {
	w := newWorld(t, web, configMaps).serverSide(OnDelete).
		hasApplied(configMaps, childA, fieldsOfA).has(configMaps, childB)
	planned := w.plan(w.answer(childAChanged, strings.Replace(childB, "{app: shop}", "{app: shop, other: one}", 1)))
	if diff := cmp.Diff([]string(nil), writes(planned)); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// To create, a condition is sent that no object fulfils; to change, the UID of the child.
func TestWhatIsApplied(t *testing.T) {
	const wanted = `"apiVersion":"v1","data":{"key":"\u003ctwo\u003e"},"kind":"ConfigMap","metadata":{"annotations":{"note":"x"},"labels":{"app":"shop"},"name":"a","namespace":"default",` +
		`"ownerReferences":[{"apiVersion":"ctl.example/v1","blockOwnerDeletion":true,"controller":true,"kind":"Web","name":"shop","uid":"parent-uid"}],`
	desired := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, uid: x, resourceVersion: "9", managedFields: [], annotations: {note: x, ` + object.LastAppliedAnnotation + `: "{}"}},
		data: {key: "<two>"}, status: {ready: true}}`
	t.Run("to create a child", func(t *testing.T) {
		w := newWorld(t, web, configMaps).serverSide(InPlace)
		step := stepFor(t, w.plan(w.answer(desired)), "a")
		if diff := cmp.Diff(`{`+wanted+`"resourceVersion":"1"}}`, string(step.Body)); diff != "" || step.Observed != nil || !step.Creates() {
			t.Errorf("step %+v, body (-want +got):\n%s", step, diff)
		}
	})
	t.Run("to change a child", func(t *testing.T) {
		w := newWorld(t, web, configMaps).serverSide(InPlace).hasApplied(configMaps, childA, fieldsOfA)
		step := stepFor(t, w.plan(w.answer(desired)), "a")
		if diff := cmp.Diff(`{`+wanted+`"uid":"uid-of-a"}}`, string(step.Body)); diff != "" || step.Creates() {
			t.Errorf("step %+v, body (-want +got):\n%s", step, diff)
		}
	})
	t.Run("generated labels are part of it", func(t *testing.T) {
		w := newWorld(t, web, configMaps).serverSide(InPlace)
		w.generate = true
		step := stepFor(t, w.plan(w.answer(childA)), "a")
		if labels := w.content(step.Body)["metadata"].(map[string]any)["labels"]; !cmp.Equal(labels, map[string]any{"app": "shop", "controller-uid": "parent-uid"}) {
			t.Errorf("labels are %v", labels)
		}
	})
}

// What an apply has made of a child, or what the host was asked about, need not be
// looked at again, though it differs from what is wanted.
func TestAnApplyIsNotRepeated(t *testing.T) {
	tests := map[string]pipeline.Op{"what was applied": pipeline.Apply, "what would have changed nothing": pipeline.Keep}
	for name, op := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps).serverSide(InPlace).hasApplied(configMaps, childA, "")
			step := stepFor(t, w.plan(w.answer(childAChanged)), "a")
			step.Op = op
			w.upToDate.Wrote([]pipeline.Outcome{{Step: step, Result: w.child(configMaps, "a")}})
			if step := stepFor(t, w.plan(w.answer(childAChanged)), "a"); step.Op != pipeline.Keep {
				t.Errorf("%s because %s", step.Op, step.Why)
			}
			if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Apply {
				t.Errorf("another wish: %s because %s", step.Op, step.Why)
			}
			w.children[configMaps] = nil
			w.hasApplied(configMaps, strings.Replace(childA, "{app: shop}", "{app: shop, theirs: x}", 1), "")
			if step := stepFor(t, w.plan(w.answer(childAChanged)), "a"); step.Op != pipeline.Apply {
				t.Errorf("another state: %s because %s", step.Op, step.Why)
			}
		})
	}
}

// Adopting, releasing and deleting are the same in either engine, and what another may have is never taken over.
func TestClaimsUnderServerSideApply(t *testing.T) {
	for _, method := range []Method{"", OnDelete, Recreate, InPlace} {
		t.Run("method "+string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).serverSide(method)
			w.hasAsIs(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, namespace: default, uid: u1, resourceVersion: "1", labels: {app: shop}}}`)
			w.hasAsIs(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: default, uid: u2, resourceVersion: "1"}}`)
			w.hasApplied(configMaps, strings.Replace(childA, "{app: shop}", "{app: other}", 1), fieldsOfA)
			w.hasApplied(configMaps, childB, fieldsOfA)
			planned := w.plan(w.answer(
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, labels: {app: shop}}, data: {key: one}}`,
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, labels: {app: shop}}}`,
			))
			want := []string{"adopt ConfigMap default/orphan", "release ConfigMap default/a", "delete ConfigMap default/b", "keep ConfigMap default/orphan", "apply ConfigMap default/theirs"}
			if diff := cmp.Diff(want, steps(planned)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if step := stepFor(t, planned, "theirs"); step.Observed != nil || !strings.Contains(string(step.Body), `"resourceVersion":"1"`) {
				t.Errorf("what may be another's is taken over: %s", step.Body)
			}
		})
	}
}

// Where the host says how it writes a value, it need not be asked whether it is another.
func TestTheHostsFormOfWhatWasAppliedIsNoDifference(t *testing.T) {
	const (
		wanted = `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: shop}}, spec: {hostNetwork: false, nodeSelector: {}, containers: [{name: c, resources: {limits: {cpu: 1000m}}}]}}`
		stored = `{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: shop}}, spec: {restartPolicy: Always, containers: [{name: c, image: x, resources: {limits: {cpu: "1"}}}]}}`
		fields = `{"f:metadata":{"f:labels":{"f:app":{}},` + ownerField + `},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:resources":{"f:limits":{"f:cpu":{}}}}}}}`
	)
	tests := map[string]struct {
		observed, desired string
		described         bool
		want              pipeline.Op
	}{
		"as the cluster describes it":          {observed: stored, desired: wanted, described: true, want: pipeline.Keep},
		"if the cluster does not describe it":  {observed: stored, desired: wanted, want: pipeline.Apply},
		"another quantity":                     {observed: stored, desired: strings.Replace(wanted, "1000m", "1001m", 1), described: true, want: pipeline.Apply},
		"what is no longer empty":              {observed: stored, desired: strings.Replace(wanted, "hostNetwork: false", "hostNetwork: true", 1), described: true, want: pipeline.Apply},
		"another quantity that is there":       {observed: strings.Replace(stored, `"1"`, `"2"`, 1), desired: wanted, described: true, want: pipeline.Apply},
		"what is not wanted any more and ours": {observed: stored, desired: strings.Replace(wanted, "resources: {limits: {cpu: 1000m}}", "image: x", 1), described: true, want: pipeline.Apply},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, pods).serverSide(InPlace).hasApplied(pods, test.observed, fields)
			if test.described {
				w.schemas[pods] = described(t, pods)
			}
			if step := stepFor(t, w.plan(w.answer(test.desired)), "a"); step.Op != test.want {
				t.Errorf("%s because %s, want %s", step.Op, step.Why, test.want)
			}
		})
	}
}

func TestMovingToServerSideApply(t *testing.T) {
	for _, method := range []Method{InPlace, Recreate} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).serverSide(method).has(configMaps, childA)
			step := stepFor(t, w.plan(w.answer(childAChanged)), "a")
			const want = `{"apiVersion":"v1","data":{"key":"one"},"kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default",` +
				`"ownerReferences":[{"apiVersion":"ctl.example/v1","blockOwnerDeletion":true,"controller":true,"kind":"Web","name":"shop","uid":"parent-uid"}]}}`
			if step.Op != pipeline.ToServerSideApply || string(step.Body) != want || step.Why != "it was written by dynamic apply" {
				t.Errorf("%s because %s, with %s", step.Op, step.Why, step.Body)
			}
		})
	}
	for _, record := range []string{"null", "{"} {
		t.Run("with a record that says nothing: "+record, func(t *testing.T) {
			w := newWorld(t, web, configMaps).serverSide(InPlace)
			w.hasApplied(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop},
				annotations: {`+object.LastAppliedAnnotation+`: "`+record+`"}}}`, "")
			if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.ToServerSideApply {
				t.Errorf("%s because %s", step.Op, step.Why)
			}
		})
	}
	t.Run("whose record is gone but not its owner", func(t *testing.T) {
		w := newWorld(t, web, configMaps).serverSide(InPlace).hasApplied(configMaps, childA, fieldsOfA)
		w.child(configMaps, "a").Shared = true
		if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Keep {
			t.Errorf("nothing differs: %s because %s", step.Op, step.Why)
		}
		step := stepFor(t, w.plan(w.answer(childAChanged)), "a")
		if step.Op != pipeline.ToServerSideApply || step.Why != "the applied fields have another owner, of dynamic apply" {
			t.Errorf("something differs: %s because %s", step.Op, step.Why)
		}
	})
}

// What was applied becomes the annotation that dynamic apply would have written, so that
// there is nothing more to write if nothing else is wanted.
func TestMovingToDynamicApply(t *testing.T) {
	const observed = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop, theirs: x}, annotations: {theirs: x}}, data: {key: one, theirs: x}}`
	const record = `{"apiVersion":"v1","data":{"key":"one"},"kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"}}`
	for _, method := range []Method{InPlace, Recreate} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(method).hasApplied(configMaps, observed, fieldsOfA)
			step := stepFor(t, w.plan(w.answer(childA)), "a")
			if step.Op != pipeline.ToDynamicApply || string(step.Body) != record || step.Why != "it was written by server-side apply" {
				t.Errorf("%s because %s, with %s", step.Op, step.Why, step.Body)
			}

			content := decode(t, step.Observed)
			content["metadata"].(map[string]any)["annotations"] = map[string]any{object.LastAppliedAnnotation: record}
			w.replace(step, w.stored(content, step.Observed.UID))
			if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Keep {
				t.Errorf("then %s because %s", step.Op, step.Why)
			}
		})
	}
	t.Run("owners beside the parent are part of the record", func(t *testing.T) {
		w := newWorld(t, web, configMaps).method(InPlace)
		w.hasApplied(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, ownerReferences: [{apiVersion: v1, kind: Node, name: node, uid: other}]}}`,
			`{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"other\"}":{},"k:{\"uid\":\"parent-uid\"}":{}}}}`)
		metadata := w.content(stepFor(t, w.plan(w.answer(childA)), "a").Body)["metadata"].(map[string]any)
		want := []any{map[string]any{"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "other"}}
		if diff := cmp.Diff(want, metadata["ownerReferences"]); diff != "" {
			t.Errorf("owners on record (-want +got):\n%s", diff)
		}
	})
	t.Run("a child with a record stays as it is", func(t *testing.T) {
		w := newWorld(t, web, configMaps).method(InPlace).has(configMaps, childA)
		w.child(configMaps, "a").Applied = []byte(fieldsOfA)
		if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Keep {
			t.Errorf("%s because %s", step.Op, step.Why)
		}
	})
}

func TestChildrenUnderOnDeleteAreNotMoved(t *testing.T) {
	w := newWorld(t, web, configMaps).method(OnDelete).hasApplied(configMaps, childA, fieldsOfA)
	if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Keep {
		t.Errorf("to dynamic apply: %s because %s", step.Op, step.Why)
	}
	w = newWorld(t, web, configMaps).serverSide(OnDelete).has(configMaps, childA)
	if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Keep {
		t.Errorf("to server-side apply: %s because %s", step.Op, step.Why)
	}
}
