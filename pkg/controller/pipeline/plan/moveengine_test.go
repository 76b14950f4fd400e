// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

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
	t.Run("with a record that says nothing", func(t *testing.T) {
		w := newWorld(t, web, configMaps).serverSide(InPlace)
		w.hasApplied(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, annotations: {`+object.LastAppliedAnnotation+`: "null"}}}`, "")
		if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.ToServerSideApply {
			t.Errorf("%s because %s", step.Op, step.Why)
		}
	})
	t.Run("whose record is gone but not its owner", func(t *testing.T) {
		w := newWorld(t, web, configMaps).serverSide(InPlace).hasApplied(configMaps, childA, fieldsOfA)
		w.child(configMaps, "a").Shared = true
		if step := stepFor(t, w.plan(w.answer(childA)), "a"); step.Op != pipeline.Keep {
			t.Errorf("nothing differs: %s because %s", step.Op, step.Why)
		}
		step := stepFor(t, w.plan(w.answer(childAChanged)), "a")
		if step.Op != pipeline.ToServerSideApply || step.Why != "what was applied has another owner, of dynamic apply" {
			t.Errorf("something differs: %s because %s", step.Op, step.Why)
		}
	})
	t.Run("with a record that is none", func(t *testing.T) {
		w := newWorld(t, web, configMaps).serverSide(InPlace)
		w.hasApplied(configMaps, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: shop}, annotations: {`+object.LastAppliedAnnotation+`: "{"}}}`, "")
		if planned := w.plan(w.answer(childA)); len(planned.Refused) != 1 {
			t.Errorf("refused %v, steps %v", planned.Refused, steps(planned))
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
