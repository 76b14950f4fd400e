// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// ours is the owner reference that makes shop the controller of a child.
const ours = `{apiVersion: ctl.example/v1, kind: Web, name: shop, uid: parent-uid, controller: true, blockOwnerDeletion: true}`

func TestCreateBody(t *testing.T) {
	tests := map[string]struct {
		parent   string // the namespaced web unless it says otherwise
		of       object.Type
		generate bool
		desired  string
		want     string // without the record of what was applied
		record   string
	}{
		"the namespace is the parent's, the parent is the controller": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {key: "<&>"}}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop},
				ownerReferences: [` + ours + `]}, data: {key: "<&>"}}`,
			record: `{"apiVersion":"v1","data":{"key":"\u003c\u0026\u003e"},"kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"}}`,
		},
		"the namespace may be named": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}}}`,
			want:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}, ownerReferences: [` + ours + `]}}`,
			record:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"}}`,
		},
		"the namespace may be the empty text": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: "", labels: {app: shop}}}`,
			want:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}, ownerReferences: [` + ours + `]}}`,
			record:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"}}`,
		},
		"what a decorator's attachments bear is not put on a child, as when a hook copies one": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, annotations: {note: x, metacontroller.k8s.io/decorator-controller: deco}}}`,
			want:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}, annotations: {note: x}, ownerReferences: [` + ours + `]}}`,
			record:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"note":"x"},"labels":{"app":"shop"},"name":"a","namespace":"default"}}`,
		},
		"the generated label is put on a child without labels": {
			generate: true,
			desired:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
			want:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {controller-uid: parent-uid}, ownerReferences: [` + ours + `]}}`,
			record:   `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"controller-uid":"parent-uid"},"name":"a","namespace":"default"}}`,
		},
		"the generated label is put beside others, and only on the child itself": {
			generate: true,
			desired:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: x}}, spec: {template: {metadata: {labels: {app: x}}}}}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: x, controller-uid: parent-uid}, ownerReferences: [` + ours + `]},
				spec: {template: {metadata: {labels: {app: x}}}}}`,
			record: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"x","controller-uid":"parent-uid"},"name":"a","namespace":"default"},` +
				`"spec":{"template":{"metadata":{"labels":{"app":"x"}}}}}`,
		},
		"the generated label is put in place of a null": {
			generate: true,
			desired:  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: null}}`,
			want:     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {controller-uid: parent-uid}, ownerReferences: [` + ours + `]}}`,
			record:   `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"controller-uid":"parent-uid"},"name":"a","namespace":"default"}}`,
		},
		"annotations of the hook stay, a record that it sends back is not recorded": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, annotations: {x: "1", metacontroller.k8s.io/last-applied-configuration: "{}"}}}`,
			want:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}, annotations: {x: "1"}, ownerReferences: [` + ours + `]}}`,
			record:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"x":"1"},"labels":{"app":"shop"},"name":"a","namespace":"default"}}`,
		},
		"nulls for annotations and owners": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, annotations: null, ownerReferences: null}}`,
			want:    `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop}, ownerReferences: [` + ours + `]}}`,
			record:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":null,"labels":{"app":"shop"},"name":"a","namespace":"default","ownerReferences":null}}`,
		},
		"owners that the hook names come before the parent": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: other}]}}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop},
				ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: other}, ` + ours + `]}}`,
			record: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default",` +
				`"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"other"}]}}`,
		},
		"a reference to the parent that the hook makes is completed": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, ownerReferences: [{apiVersion: ctl.example/v1, kind: Web, name: shop, uid: parent-uid}]}}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop},
				ownerReferences: [` + ours + `]}}`,
			record: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default",` +
				`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"parent-uid"}]}}`,
		},
		"what belongs to the cluster, as in a copy of another object, is left out": {
			desired: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, uid: x, resourceVersion: "9",
				generation: 4, selfLink: /x, managedFields: [], creationTimestamp: "2026-03-04T05:06:07Z",
				deletionTimestamp: "2026-03-04T05:06:07Z", deletionGracePeriodSeconds: 3}}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default, labels: {app: shop},
				ownerReferences: [` + ours + `]}}`,
			record: `{"apiVersion":"v1","kind":"ConfigMap",` +
				`"metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"}}`,
		},
		"a cluster-scoped child has no namespace": {
			parent: fleet, of: namespaces,
			desired: `{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {app: shop}}}`,
			want: `{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {app: shop},
				ownerReferences: [{apiVersion: ctl.example/v1, kind: Fleet, name: shop, uid: parent-uid, controller: true, blockOwnerDeletion: true}]}}`,
			record: `{"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"app":"shop"},"name":"a"}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.parent == "" {
				test.parent, test.of = web, configMaps
			}
			w := newWorld(t, test.parent, test.of)
			w.generate = test.generate
			step := stepFor(t, w.plan(w.answer(test.desired)), "a")
			if step.Op != pipeline.Create || step.Observed != nil {
				t.Fatalf("the step is %s of %v", step.Op, step.Observed)
			}
			want := decode(t, parseYAML(t, test.want))
			if err := setLastApplied(want, w.content([]byte(test.record))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, w.content(step.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if got := parseJSON(t, step.Body).Lookup("metadata", "annotations", object.LastAppliedAnnotation); string(got) != quoted(t, test.record) {
				t.Errorf("the record is\n%s\nwant\n%s", got, quoted(t, test.record))
			}
		})
	}
}

// quoted is a text as a JSON string of canonical form.
func quoted(t *testing.T, text string) string {
	t.Helper()
	whole := canonical(t, map[string]any{"": text})
	return whole[len(`{"":`) : len(whole)-1]
}

const (
	childWithB    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {a: "1", b: "2"}}`
	childWithoutB = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {a: "1"}}`
)

// sync takes one step with the only child, and returns what it was.
func (w *world) sync(desired string) pipeline.Op {
	w.t.Helper()
	planned := w.plan(w.answer(desired))
	var op pipeline.Op
	for _, step := range planned.Steps {
		if step.Type == configMaps {
			op = step.Op
		}
		if step.Op == pipeline.Adopt {
			break
		}
	}
	w.carryOut(planned)
	return op
}

// A child loses a field that the hook wanted earlier and wants no longer. That another client had set
// the field to the same value before makes no difference.
func TestAFieldThatWasSharedIsRemoved(t *testing.T) {
	orphan := strings.Replace(childWithB, "{name: a,", `{name: a, namespace: default, uid: uid-of-a, resourceVersion: "7",`, 1)
	type sync struct {
		desired string
		want    pipeline.Op
	}
	tests := map[string]struct {
		has   func(*world) *world
		syncs map[Method][]sync
	}{
		"of a child that was adopted": {
			func(w *world) *world {
				w.children[configMaps] = []*object.Object{w.storedBy("others", decode(t, parseYAML(t, orphan)), "uid-of-a")}
				return w
			},
			map[Method][]sync{
				Recreate: {{childWithB, pipeline.Adopt}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Recreate}, {childWithoutB, pipeline.Create}, {childWithoutB, pipeline.Keep}},
				InPlace:  {{childWithB, pipeline.Adopt}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Update}, {childWithoutB, pipeline.Keep}},
			},
		},
		"that somebody had added": {
			func(w *world) *world {
				w.children[configMaps] = []*object.Object{w.applied(configMaps, childWithB, childWithoutB)}
				return w
			},
			map[Method][]sync{
				Recreate: {{childWithoutB, pipeline.Keep}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Recreate}, {childWithoutB, pipeline.Create}, {childWithoutB, pipeline.Keep}},
				InPlace:  {{childWithoutB, pipeline.Keep}, {childWithB, pipeline.Update}, {childWithB, pipeline.Keep}, {childWithoutB, pipeline.Update}, {childWithoutB, pipeline.Keep}},
			},
		},
	}
	for name, test := range tests {
		for method, syncs := range test.syncs {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := test.has(newWorld(t, web, configMaps).method(method))
				for i, sync := range syncs {
					if got := w.sync(sync.desired); got != sync.want {
						t.Fatalf("sync %d takes the step %s, want %s", i+1, got, sync.want)
					}
				}
				if diff := cmp.Diff(map[string]any{"a": "1"}, decode(t, w.child(configMaps, "a"))["data"]); diff != "" {
					t.Errorf("data (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// An update of the record alone sends the child as it is, in the version that was compared.
func TestAnUpdateOfTheRecordChangesNothingElse(t *testing.T) {
	w := newWorld(t, web, configMaps).method(Recreate)
	w.children[configMaps] = []*object.Object{w.applied(configMaps, childWithB, childWithoutB)}
	observed := w.child(configMaps, "a")
	want := decode(t, observed)
	if err := setLastApplied(want, decode(t, parseYAML(t, strings.Replace(childWithB, "{name: a", "{name: a, namespace: default", 1)))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, w.content(stepFor(t, w.plan(w.answer(childWithB)), "a").Body)); diff != "" {
		t.Errorf("the update (-want +got):\n%s", diff)
	}
}

// A rollout must not take a child for moved of which a field of the earlier revision is left.
func TestAChildWhoseRecordMustFollowIsNotUpToDate(t *testing.T) {
	tests := map[string]struct {
		last, desired string
		want          bool
	}{
		"no record, as wanted":              {"", childWithB, false},
		"no record, more than wanted":       {"", childWithoutB, false},
		"recorded with less, as wanted":     {childWithoutB, childWithB, false},
		"recorded, as wanted":               {childWithB, childWithB, true},
		"recorded, more than wanted":        {childWithB, childWithoutB, false},
		"recorded, with more from others":   {childWithoutB, childWithoutB, true},
		"recorded, something else is meant": {childWithB, childA, false},
	}
	for name, test := range tests {
		for _, method := range []Method{Recreate, InPlace} {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := newWorld(t, web, configMaps).method(method)
				child := w.applied(configMaps, childWithB, childWithB)
				if test.last != "" {
					child = w.applied(configMaps, childWithB, test.last)
				} else {
					content := decode(t, child)
					delete(content["metadata"].(map[string]any), "annotations")
					child = w.stored(content, types.UID("uid-of-a"))
				}
				w.children[configMaps] = []*object.Object{child}
				upToDate := UpToDate(w.snapshot(), w.strategies, &w.upToDate)
				for range 2 { // the second time it may be known
					if got, err := upToDate(child, parseYAML(t, test.desired)); got != test.want || err != nil {
						t.Errorf("up to date is %v, want %v, error %v", got, test.want, err)
					}
				}
			})
		}
	}
}

// A cluster that the original has managed goes on without a single write: these are
// children as it leaves them, and what their hooks answer.
func TestTakingOverFromTheOriginal(t *testing.T) {
	tests := map[string]struct {
		of       object.Type
		generate bool
		answer   string // JSON as the hook sends it
		record   string // what the original has put into the annotation
		stored   string // what the API server has made of the rest
	}{
		"a ConfigMap": {
			of:     configMaps,
			answer: `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "labels": {"app": "shop"}}, "data": {"z": "<b>&", "a": "grüße"}}`,
			record: `{"apiVersion":"v1","data":{"a":"grüße","z":"\u003cb\u003e\u0026"},"kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"}}`,
			stored: `"data":{"a":"grüße","z":"<b>&"}`,
		},
		"a ConfigMap with a record that somebody has written otherwise": {
			of:     configMaps,
			answer: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"app":"shop"}},"data":{"z":"<b>&"}}`,
			record: "{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n  \"data\": {\"z\": \"<b>&\"},\n" +
				"  \"metadata\": {\"namespace\": \"default\", \"name\": \"a\", \"labels\": {\"app\": \"shop\"}}\n}",
			stored: `"data":{"z":"<b>&"}`,
		},
		"a Pod with the generated label and all that the API server fills in": {
			of: pods, generate: true,
			answer: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"restartPolicy":"OnFailure","containers":[{"name":"hello","image":"busybox","command":["echo"],"ports":[{"containerPort":80}],"resources":{}}]}}`,
			record: `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"controller-uid":"parent-uid"},"name":"a","namespace":"default"},` +
				`"spec":{"containers":[{"command":["echo"],"image":"busybox","name":"hello","ports":[{"containerPort":80}],"resources":{}}],"restartPolicy":"OnFailure"}}`,
			stored: `"spec":{"volumes":[{"name":"kube-api-access","projected":{"defaultMode":420}}],"containers":[{"name":"hello","image":"busybox","command":["echo"],` +
				`"ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{},"volumeMounts":[{"name":"kube-api-access","mountPath":"/var/run"}],"imagePullPolicy":"Always"}],` +
				`"restartPolicy":"OnFailure","nodeName":"n1","tolerations":[{"key":"a","operator":"Exists"}]},"status":{"phase":"Running"}`,
		},
		"a child of a hook that writes out what is not there": {
			of:     configMaps,
			answer: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"creationTimestamp":null,"name":"a","labels":{"app":"shop"},"annotations":null},"data":{"a":"1"},"status":{}}`,
			record: `{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"annotations":null,"creationTimestamp":null,"labels":{"app":"shop"},"name":"a","namespace":"default"},"status":{}}`,
			stored: `"data":{"a":"1"}`,
		},
		"numbers that a hook writes with a point": {
			of:     deployments,
			answer: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"app":"shop"}},"spec":{"replicas":2.0,"weight":1.5}}`,
			record: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"},"spec":{"replicas":2,"weight":1.5}}`,
			stored: `"spec":{"replicas":2,"weight":1.5}`,
		},
	}
	for name, test := range tests {
		for _, method := range []Method{OnDelete, Recreate, InPlace} {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := newWorld(t, web, test.of).method(method)
				w.generate = test.generate
				desired := parseJSON(t, []byte(test.answer))
				label := `"app":"shop"`
				if test.generate {
					label = `"controller-uid":"parent-uid"`
				}
				annotation := canonical(t, map[string]any{object.LastAppliedAnnotation: test.record})
				child := parseJSON(t, []byte(`{"kind":"`+desired.Kind+`","apiVersion":"`+desired.APIVersion+`","metadata":{"name":"a","namespace":"default","uid":"u",`+
					`"resourceVersion":"9","generation":1,"creationTimestamp":"2025-01-01T00:00:00Z","labels":{`+label+`},"annotations":`+annotation+`,`+
					`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"parent-uid","controller":true,"blockOwnerDeletion":true}],`+
					`"managedFields":[{"manager":"metacontroller","operation":"Update"}]},`+test.stored+`}`))
				w.children[test.of] = append(w.children[test.of], child)
				planned := w.plan(&pipeline.Response{Children: []*object.Object{desired}})
				if got := writes(planned); len(got) > 0 {
					t.Errorf("writes %v because %s", got, planned.Steps[0].Why)
				}
				if len(planned.Refused) > 0 {
					t.Errorf("refused %v", planned.Refused)
				}
			})
		}
	}
}

// The annotation that a create or an update writes is what the original would read back.
func TestTheOriginalFindsItsOwnRecord(t *testing.T) {
	w := newWorld(t, web, configMaps).method(InPlace)
	w.carryOut(w.plan(w.answer(childA)))
	const created = `{"apiVersion":"v1","data":{"key":"one"},"kind":"ConfigMap","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"}}`
	if got := recordOf(t, w); got != created {
		t.Errorf("after the create the record is\n%s\nwant\n%s", got, created)
	}
	w.carryOut(w.plan(w.answer(childAChanged)))
	if got, want := recordOf(t, w), strings.Replace(created, "one", "two", 1); got != want {
		t.Errorf("after the update the record is\n%s\nwant\n%s", got, want)
	}
}

func recordOf(t *testing.T, w *world) string {
	t.Helper()
	return decode(t, w.child(configMaps, "a"))["metadata"].(map[string]any)["annotations"].(map[string]any)[object.LastAppliedAnnotation].(string)
}

// A hook may answer the children that it was shown. This must not cause writes again and again, and
// what was last applied must not grow.
func TestAHookThatEchoesItsChildren(t *testing.T) {
	for _, method := range []Method{OnDelete, Recreate, InPlace} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(method).has(configMaps, childA)
			echo := func() *pipeline.Response { return &pipeline.Response{Children: w.snapshot().Children[0].Claimed} }
			w.carryOut(w.plan(echo()))
			for range 3 {
				planned := w.plan(echo())
				if got := writes(planned); len(got) > 0 {
					t.Fatalf("still writes %v because %s", got, planned.Steps[0].Why)
				}
				w.carryOut(planned)
			}
			w.upToDate = UpToDateCache{}
			if got := writes(w.plan(echo())); len(got) > 0 {
				t.Errorf("after a restart it writes %v", got)
			}
			w.defaults = func(content map[string]any) { content["status"] = map[string]any{"seen": int64(w.version)} }
			w.children[configMaps] = []*object.Object{w.stored(decode(t, w.child(configMaps, "a")), "uid-of-a")}
			w.upToDate = UpToDateCache{}
			if got := writes(w.plan(echo())); len(got) > 0 {
				t.Errorf("after a change of the status it writes %v", got)
			}
			if strings.Contains(recordOf(t, w), object.LastAppliedAnnotation) {
				t.Errorf("the record contains itself: %s", recordOf(t, w))
			}
		})
	}
}

// What one sync has written, the next finds as it should be, also if nothing is
// remembered.
func TestASecondSyncWritesNothing(t *testing.T) {
	tests := map[string]string{
		"plain content":          childA,
		"nulls":                  `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, annotations: null}, data: {x: null}, spec: null}`,
		"owners of the hook":     `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: other}]}}`,
		"annotations and labels": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop, x: "1"}, annotations: {x: "1"}}}`,
		"system fields":          `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, uid: x, resourceVersion: "1", creationTimestamp: null, generation: 5}, status: {a: 1}}`,
		"empty containers":       `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {}, list: []}`,
	}
	for name, child := range tests {
		for _, method := range []Method{OnDelete, Recreate, InPlace} {
			t.Run(name+", method "+string(method), func(t *testing.T) {
				w := newWorld(t, web, configMaps).method(method)
				w.defaults = func(content map[string]any) { delete(content, "status") }
				w.parent = parseYAML(t, web)
				w.carryOut(w.plan(w.answer(child)))
				w.upToDate = UpToDateCache{}
				if planned := w.plan(w.answer(child)); len(writes(planned)) > 0 {
					t.Errorf("writes %v because %s", writes(planned), planned.Steps[0].Why)
				}
			})
		}
	}
}
