// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

func parsed(t testing.TB, raw string) *object.Object {
	t.Helper()
	o, err := object.Parse([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return o
}

func typeOf(group, version, kind string) stage.Type {
	return stage.Type{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version}, Kind: kind}
}

const controller = `{"kind":"CompositeController","apiVersion":"metacontroller.k8s.io/v1alpha1","metadata":{"name":"webs"},"spec":{},"status":{}}`

func TestCompositeRequest(t *testing.T) {
	const (
		web   = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default","uid":"u"},"spec":{"x":1.50},"status":{"ready":true}}`
		fleet = `{"apiVersion":"ctl.example/v1","kind":"Fleet","metadata":{"name":"shop","uid":"u"}}`
		pod   = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"a":"<&>"}}`
		set   = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s","namespace":"other"}}`
		node  = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`
		role  = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a\":{},\"b\\"}}`
	)
	tests := map[string]struct {
		parent     string
		groups     map[stage.Type][]string
		finalizing bool
		want       string
	}{
		"a namespaced parent: children go by their names": {
			parent: web,
			groups: map[stage.Type][]string{typeOf("", "v1", "Pod"): {pod, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"default"}}`}},
			want: `{"controller":` + controller + `,"parent":` + web + `,"children":{"Pod.v1":{"p":` + pod +
				`,"q":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"default"}}}},"related":{},"finalizing":false}`,
		},
		"a cluster-scoped parent: children go by their namespaces and names": {
			parent: fleet,
			groups: map[stage.Type][]string{typeOf("", "v1", "Pod"): {pod}, typeOf("apps", "v1", "StatefulSet"): {set}, typeOf("", "v1", "Node"): {node}},
			want: `{"controller":` + controller + `,"parent":` + fleet + `,"children":{"Pod.v1":{"default/p":` + pod + `},"StatefulSet.apps/v1":{"other/s":` + set +
				`},"Node.v1":{"n":` + node + `}},"related":{},"finalizing":false}`,
		},
		"a type without children is there": {
			parent: web,
			groups: map[stage.Type][]string{typeOf("", "v1", "Pod"): nil, typeOf("apps", "v1", "StatefulSet"): nil},
			want:   `{"controller":` + controller + `,"parent":` + web + `,"children":{"Pod.v1":{},"StatefulSet.apps/v1":{}},"related":{},"finalizing":false}`,
		},
		"no child types": {
			parent: web,
			want:   `{"controller":` + controller + `,"parent":` + web + `,"children":{},"related":{},"finalizing":false}`,
		},
		"finalizing": {
			parent: web, finalizing: true,
			want: `{"controller":` + controller + `,"parent":` + web + `,"children":{},"related":{},"finalizing":true}`,
		},
		"a name that would end its quotes": {
			parent: fleet,
			groups: map[stage.Type][]string{typeOf("rbac.authorization.k8s.io", "v1", "ClusterRole"): {role}},
			want: `{"controller":` + controller + `,"parent":` + fleet + `,"children":{"ClusterRole.rbac.authorization.k8s.io/v1":{"a\":{},\"b\\":` + role +
				`}},"related":{},"finalizing":false}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			snapshot := &stage.Snapshot{Controller: []byte(controller), Parent: parsed(t, test.parent), Finalizing: test.finalizing}
			for of, children := range test.groups {
				group := stage.Group{Type: of}
				for _, child := range children {
					group.Claimed = append(group.Claimed, parsed(t, child))
				}
				snapshot.Children = append(snapshot.Children, group)
			}
			request := compositeRequest(snapshot)
			var got, want any
			if err := json.Unmarshal(request, &got); err != nil {
				t.Fatalf("%s: %v", request, err)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatalf("%s: %v", test.want, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if len(request) > requestSize(snapshot) {
				t.Errorf("the request has %d bytes, %d were set aside", len(request), requestSize(snapshot))
			}
		})
	}
}

// What is to be let go, and what only may be adopted, is not shown twice or at all.
func TestCompositeRequestShowsTheClaimedChildren(t *testing.T) {
	orphan := parsed(t, `{"kind":"Pod","metadata":{"name":"orphan","namespace":"default"}}`)
	let := parsed(t, `{"kind":"Pod","metadata":{"name":"let-go","namespace":"default"}}`)
	snapshot := &stage.Snapshot{
		Controller: []byte(controller), Parent: parsed(t, `{"kind":"Web","metadata":{"name":"shop","namespace":"default"}}`),
		Children: []stage.Group{{Type: typeOf("", "v1", "Pod"), Claimed: []*object.Object{orphan}, Adopt: []*object.Object{orphan}, Release: []*object.Object{let}}},
	}
	const want = `{"Pod.v1":{"orphan":{"kind":"Pod","metadata":{"name":"orphan","namespace":"default"}}}}`
	if got := string(object.Lookup(compositeRequest(snapshot), "children")); got != want {
		t.Errorf("children are %s, want %s", got, want)
	}
}

func BenchmarkCompositeRequest(b *testing.B) {
	snapshot := &stage.Snapshot{
		Controller: []byte(controller), Parent: parsed(b, `{"kind":"Web","metadata":{"name":"shop","namespace":"default"}}`),
		Children: []stage.Group{{Type: typeOf("", "v1", "Pod")}},
	}
	for range 100 {
		child := parsed(b, `{"kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":{"containers":[{"name":"app","image":"busybox"}]}}`)
		snapshot.Children[0].Claimed = append(snapshot.Children[0].Claimed, child)
	}
	b.ReportAllocs()
	for b.Loop() {
		compositeRequest(snapshot)
	}
}
