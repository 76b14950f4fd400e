// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
