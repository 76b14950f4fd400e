// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A hook that no longer lists a kind of metadata takes back what it has put there, and
// nothing of what others have.
func TestMetadataOfOthersStays(t *testing.T) {
	const plain = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`
	metadata := func(more string) string { return strings.Replace(plain, "{name: a", "{name: a, "+more, 1) }
	tests := map[string]struct {
		observed, last, desired string
		field, want             string // of the metadata after the update
	}{
		"annotations": {
			observed: metadata(`annotations: {ours: x, theirs: z}`), last: metadata(`annotations: {ours: x}`), desired: plain,
			field: "annotations", want: `{theirs: z}`,
		},
		"annotations that somebody changed": {
			observed: metadata(`annotations: {ours: w, theirs: z}`), last: metadata(`annotations: {ours: x}`), desired: plain,
			field: "annotations", want: `{theirs: z}`,
		},
		"annotations for which the hook answers a null": {
			observed: metadata(`annotations: {ours: x, theirs: z}`), last: metadata(`annotations: {ours: x}`), desired: metadata(`annotations: null`),
			field: "annotations", want: `{theirs: z}`,
		},
		"finalizers": {
			observed: metadata(`finalizers: [ours/x, theirs/y]`), last: metadata(`finalizers: [ours/x]`), desired: plain,
			field: "finalizers", want: `[theirs/y]`,
		},
		"finalizers beside those of the hook": {
			observed: metadata(`finalizers: [ours/x, theirs/y]`), last: metadata(`finalizers: [ours/x]`), desired: metadata(`finalizers: [ours/z]`),
			field: "finalizers", want: `[theirs/y, ours/z]`,
		},
		"owners": {
			observed: metadata(`ownerReferences: [{uid: x, name: one}, {uid: z, name: one}]`), last: metadata(`ownerReferences: [{uid: x, name: one}]`), desired: plain,
			field: "ownerReferences", want: `[{uid: z, name: one, apiVersion: "", kind: ""}, ` + ours + `]`,
		},
		"the parent, which the hook has listed among the owners": {
			observed: metadata(`ownerReferences: [{uid: z, name: one}]`), last: metadata(`ownerReferences: [` + ours + `, {uid: z, name: one}]`), desired: plain,
			field: "ownerReferences", want: `[` + ours + `]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(InPlace)
			w.schemas[configMaps] = described(t, configMaps)
			w.children[configMaps] = []*object.Object{w.applied(configMaps, test.observed, test.last)}
			step := stepFor(t, w.plan(w.answer(test.desired)), "a")
			if step.Op != pipeline.Update {
				t.Fatalf("%s because %s", step.Op, step.Why)
			}
			got := w.content(step.Body)["metadata"].(map[string]any)
			delete(got["annotations"].(map[string]any), object.LastAppliedAnnotation)
			if diff := cmp.Diff(value(t, test.want), got[test.field]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.field, diff)
			}
		})
	}
}

// Labels of others stay too, where the parent's selector does not need those of the hook.
func TestLabelsOfOthersStay(t *testing.T) {
	const listed = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {ours: x}}}`
	w := newWorld(t, web, configMaps).method(InPlace)
	w.generate = true
	w.children[configMaps] = []*object.Object{w.applied(configMaps, strings.Replace(listed, "ours: x", "ours: x, theirs: z", 1), listed)}
	step := stepFor(t, w.plan(w.answer(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)), "a")
	want := map[string]any{"controller-uid": "parent-uid", "theirs": "z"}
	if diff := cmp.Diff(want, w.content(step.Body)["metadata"].(map[string]any)["labels"]); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// In the rest of a child a field that the hook no longer lists goes as a whole.
func TestFieldsBesideTheMetadataGoAsAWhole(t *testing.T) {
	w := newWorld(t, web, configMaps).method(InPlace)
	w.children[configMaps] = []*object.Object{w.applied(configMaps,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {ours: x, theirs: z}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {ours: x}}`)}
	step := stepFor(t, w.plan(w.answer(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}}`)), "a")
	if data, there := w.content(step.Body)["data"]; there {
		t.Errorf("data is %v", data)
	}
}

// The host drops the namespace of what is in none.
func TestAClusterScopedChildWithANamespaceComesToRest(t *testing.T) {
	for _, method := range []Method{Recreate, InPlace} {
		t.Run(string(method), func(t *testing.T) {
			w := newWorld(t, fleet, namespaces).method(method)
			w.defaults = func(content map[string]any) { delete(content["metadata"].(map[string]any), "namespace") }
			const child = `{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: nonsense, labels: {app: shop}}}`
			w.carryOut(w.plan(w.answer(child)))
			w.upToDate = UpToDateCache{}
			if planned := w.plan(w.answer(child)); len(writes(planned)) > 0 {
				t.Errorf("writes %v because %s", writes(planned), planned.Steps[0].Why)
			}
		})
	}
}

// What stood in stringData goes when the hook no longer lists it, and what stands in data
// stays.
func TestStringDataOfASecretGoes(t *testing.T) {
	secret := func(more string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {app: shop}}, ` + more + `}`
	}
	w := newWorld(t, web, secrets).method(InPlace)
	w.schemas[secrets] = described(t, secrets)
	w.children[secrets] = []*object.Object{w.made(secret(`data: {a: YQ==, b: Yg==, c: Yw==}`), secret(`stringData: {a: a, b: b}, data: {c: Yw==}`))}
	step := stepFor(t, w.plan(w.answer(secret(`stringData: {a: other}, data: {c: Yw==}`))), "a")
	body := w.content(step.Body)
	if diff := cmp.Diff(map[string]any{"a": "b3RoZXI=", "c": "Yw=="}, body["data"]); diff != "" || body["stringData"] != nil {
		t.Errorf("stringData is %v, data (-want +got):\n%s", body["stringData"], diff)
	}
	record := `{"apiVersion":"v1","data":{"c":"` + digestOf("Yw==") + `"},"kind":"Secret","metadata":{"labels":{"app":"shop"},"name":"a","namespace":"default"},"stringData":{"a":"` + digestOf("other") + `"}}`
	if got := parseJSON(t, step.Body).Lookup("metadata", "annotations", object.LastAppliedAnnotation); string(got) != quoted(t, record) {
		t.Errorf("the record is %s, want the fields that the hook wrote", got)
	}
}

// What is no text the host refuses, and says so.
func TestQ21StringDataOfAnotherTypeIsSent(t *testing.T) {
	const child = `{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {app: shop}}, stringData: {a: 1, b: x}}`
	w := newWorld(t, web, secrets).method(InPlace)
	w.schemas[secrets] = described(t, secrets)
	w.has(secrets, strings.Replace(child, "a: 1, b: x", "b: x", 1))
	step := stepFor(t, w.plan(w.answer(child)), "a")
	if data := w.content(step.Body)["stringData"]; !cmp.Equal(data, map[string]any{"a": int64(1), "b": "x"}) {
		t.Errorf("stringData is %v", data)
	}
}

// A type that the field does not have is the host's to refuse, in every sync.
func TestQ21AnotherTypeThanObservedIsSent(t *testing.T) {
	const child = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}}, data: {key: one}}`
	for name, data := range map[string]string{"a list": "[x]", "a text": "x", "a number": "5"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, web, configMaps).method(InPlace).has(configMaps, child)
			w.schemas[configMaps] = described(t, configMaps)
			step := stepFor(t, w.plan(w.answer(strings.Replace(child, "{key: one}", data, 1))), "a")
			if diff := cmp.Diff(value(t, data), w.content(step.Body)["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
		})
	}
}
