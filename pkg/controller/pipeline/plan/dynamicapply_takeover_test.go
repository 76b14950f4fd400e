// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
