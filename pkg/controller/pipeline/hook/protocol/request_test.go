// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func parsed(t testing.TB, raw string) *object.Object {
	t.Helper()
	o, err := object.Parse([]byte(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return o
}

func typeOf(group, version, kind string) object.Type {
	return object.Type{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version}, Kind: kind}
}

const controller = `{"kind":"CompositeController","apiVersion":"metacontroller.k8s.io/v1alpha1","metadata":{"name":"webs"},"spec":{},"status":{}}`

type requestTest struct {
	parent     string
	groups     map[object.Type][]string
	finalizing bool
	want       string // in the words of the composite format
}

func TestRequest(t *testing.T) {
	const (
		web   = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default","uid":"u"},"spec":{"x":1.50},"status":{"ready":true}}`
		fleet = `{"apiVersion":"ctl.example/v1","kind":"Fleet","metadata":{"name":"shop","uid":"u"}}`
		pod   = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},"spec":{"a":"<&>"}}`
		set   = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s","namespace":"other"}}`
		node  = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`
		role  = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a\":{},\"b\\"}}`
	)
	tests := map[string]requestTest{
		"a namespaced parent: children go by their names": {
			parent: web,
			groups: map[object.Type][]string{typeOf("", "v1", "Pod"): {pod, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"default"}}`}},
			want: `{"controller":` + controller + `,"parent":` + web + `,"children":{"Pod.v1":{"p":` + pod +
				`,"q":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"default"}}}},"related":{},"finalizing":false}`,
		},
		"a cluster-scoped parent: children go by their namespaces and names": {
			parent: fleet,
			groups: map[object.Type][]string{typeOf("", "v1", "Pod"): {pod}, typeOf("apps", "v1", "StatefulSet"): {set}, typeOf("", "v1", "Node"): {node}},
			want: `{"controller":` + controller + `,"parent":` + fleet + `,"children":{"Pod.v1":{"default/p":` + pod + `},"StatefulSet.apps/v1":{"other/s":` + set +
				`},"Node.v1":{"n":` + node + `}},"related":{},"finalizing":false}`,
		},
		"a type without children is there": {
			parent: web,
			groups: map[object.Type][]string{typeOf("", "v1", "Pod"): nil, typeOf("apps", "v1", "StatefulSet"): nil},
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
			groups: map[object.Type][]string{typeOf("rbac.authorization.k8s.io", "v1", "ClusterRole"): {role}},
			want: `{"controller":` + controller + `,"parent":` + fleet + `,"children":{"ClusterRole.rbac.authorization.k8s.io/v1":{"a\":{},\"b\\":` + role +
				`}},"related":{},"finalizing":false}`,
		},
	}
	inBothFormats(t, tests, func(t *testing.T, f Format, test requestTest) {
		snapshot := &pipeline.Snapshot{Controller: []byte(controller), Parent: parsed(t, test.parent), Finalizing: test.finalizing}
		for of, children := range test.groups {
			group := pipeline.Group{Type: of}
			for _, child := range children {
				group.Claimed = append(group.Claimed, parsed(t, child))
			}
			snapshot.Children = append(snapshot.Children, group)
		}
		request := f.AppendRequest(nil, v1alpha1.HookVersionV1, snapshot)
		var got, want any
		if err := json.Unmarshal(request, &got); err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		if err := json.Unmarshal([]byte(f.says(test.want)), &want); err != nil {
			t.Fatalf("%s: %v", test.want, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		if len(request) > RequestSize(snapshot) {
			t.Errorf("the request has %d bytes, %d were set aside", len(request), RequestSize(snapshot))
		}
	})
}

// The parents and the objects of the table below.
const (
	namespacedParent = `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"own"}}`
	clusterParent    = `{"apiVersion":"ctl.example/v1","kind":"Fleet","metadata":{"name":"shop"}}`
	ownObject        = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"own"}}`
	otherObject      = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b","namespace":"other"}}`
	clusterObject    = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`
)

type keyTest struct {
	parent, object string
	version        v1alpha1.HookVersion
	key            string // empty if it is not shown
}

func TestKeysAndVisibility(t *testing.T) {
	const v1, v2 = v1alpha1.HookVersionV1, v1alpha1.HookVersionV2
	tests := map[string]keyTest{
		"namespaced parent, namespaced object, v1":                  {namespacedParent, ownObject, v1, "a"},
		"namespaced parent, namespaced object, v2":                  {namespacedParent, ownObject, v2, "own/a"},
		"namespaced parent, object in another namespace, v1":        {namespacedParent, otherObject, v1, ""},
		"namespaced parent, object in another namespace, v2":        {namespacedParent, otherObject, v2, "other/b"},
		"namespaced parent, cluster-scoped object, v1":              {namespacedParent, clusterObject, v1, ""},
		"namespaced parent, cluster-scoped object, v2":              {namespacedParent, clusterObject, v2, "n"},
		"cluster-scoped parent, namespaced object, v1":              {clusterParent, ownObject, v1, "own/a"},
		"cluster-scoped parent, namespaced object, v2":              {clusterParent, ownObject, v2, "own/a"},
		"cluster-scoped parent, cluster-scoped object, v1":          {clusterParent, clusterObject, v1, "n"},
		"cluster-scoped parent, cluster-scoped object, v2":          {clusterParent, clusterObject, v2, "n"},
		"namespaced parent, name that would end its quotes, v2":     {namespacedParent, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a\":{}\\","namespace":"own"}}`, v2, `own/a":{}\`},
		"cluster-scoped parent, name that would end its quotes, v1": {clusterParent, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a\":{}\\"}}`, v1, `a":{}\`},
	}
	inBothFormats(t, tests, func(t *testing.T, f Format, test keyTest) {
		shown := parsed(t, test.object)
		snapshot := &pipeline.Snapshot{
			Controller: []byte(controller), Parent: parsed(t, test.parent),
			Children: []pipeline.Group{{Type: typeOf("", "v1", shown.Kind), Claimed: []*object.Object{shown}}},
			Related: []pipeline.Related{
				{Type: typeOf("apps", "v1", "Deployment")},
				{Type: typeOf("", "v1", shown.Kind), Objects: []*object.Object{shown}},
			},
		}
		group := map[string]any{}
		if test.key != "" {
			content, err := shown.Decode()
			if err != nil {
				t.Fatal(err)
			}
			group[test.key] = content
		}
		var got map[string]any
		if err := json.Unmarshal(f.AppendRequest(nil, test.version, snapshot), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]any{shown.Kind + ".v1": group}, got[f.children]); diff != "" {
			t.Errorf("children (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]any{shown.Kind + ".v1": group, "Deployment.apps/v1": map[string]any{}}, got["related"]); diff != "" {
			t.Errorf("related objects (-want +got):\n%s", diff)
		}
	})
}

// What is left out must not leave its comma behind.
func TestObjectsThatAreLeftOutLeaveNoGap(t *testing.T) {
	own, other := parsed(t, ownObject), parsed(t, otherObject)
	for name, test := range map[string]struct {
		objects []*object.Object
		want    string
	}{
		"the first":   {[]*object.Object{other, own}, `{"Secret.v1":{"a":` + ownObject + `}}`},
		"the last":    {[]*object.Object{own, other}, `{"Secret.v1":{"a":` + ownObject + `}}`},
		"one between": {[]*object.Object{own, other, own}, `{"Secret.v1":{"a":` + ownObject + `,"a":` + ownObject + `}}`},
		"all":         {[]*object.Object{other, other}, `{"Secret.v1":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := &pipeline.Snapshot{
				Controller: []byte(controller), Parent: parsed(t, namespacedParent),
				Related: []pipeline.Related{{Type: typeOf("", "v1", "Secret"), Objects: test.objects}},
			}
			if got := string(object.Lookup(Composite().AppendRequest(nil, v1alpha1.HookVersionV1, snapshot), "related")); got != test.want {
				t.Errorf("related objects are %s, want %s", got, test.want)
			}
		})
	}
}

// Children to release are not shown, and children to adopt are shown once.
func TestCompositeRequestShowsTheClaimedChildren(t *testing.T) {
	orphan := parsed(t, `{"kind":"Pod","metadata":{"name":"orphan","namespace":"default"}}`)
	let := parsed(t, `{"kind":"Pod","metadata":{"name":"let-go","namespace":"default"}}`)
	snapshot := &pipeline.Snapshot{
		Controller: []byte(controller), Parent: parsed(t, `{"kind":"Web","metadata":{"name":"shop","namespace":"default"}}`),
		Children: []pipeline.Group{{Type: typeOf("", "v1", "Pod"), Claimed: []*object.Object{orphan}, Adopt: []*object.Object{orphan}, Release: []*object.Object{let}}},
	}
	const want = `{"Pod.v1":{"orphan":{"kind":"Pod","metadata":{"name":"orphan","namespace":"default"}}}}`
	if got := string(object.Lookup(Composite().AppendRequest(nil, v1alpha1.HookVersionV1, snapshot), "children")); got != want {
		t.Errorf("children are %s, want %s", got, want)
	}
}

// large is a snapshot with a hundred children and as many related objects.
func large(t testing.TB) *pipeline.Snapshot {
	snapshot := &pipeline.Snapshot{Controller: []byte(controller), Parent: parsed(t, `{"kind":"Web","metadata":{"name":"shop","namespace":"default"}}`)}
	var objects []*object.Object
	for range 100 {
		objects = append(objects, parsed(t, `{"kind":"Pod","metadata":{"name":"a","namespace":"default"},"spec":{"containers":[{"name":"app","image":"busybox"}]}}`))
	}
	snapshot.Children = []pipeline.Group{{Type: typeOf("", "v1", "Pod"), Claimed: objects}, {Type: typeOf("apps", "v1", "StatefulSet")}}
	snapshot.Related = []pipeline.Related{{Type: typeOf("networking.k8s.io", "v1", "NetworkPolicy"), Objects: objects}}
	return snapshot
}

// Requests are the largest things there are, and most of what a sync allocates.
func TestACompositeRequestIsMadeInOnePieceOfTheRightSize(t *testing.T) {
	snapshot := large(t)
	for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
		alloctest.AtMost(t, 1, func() { Composite().AppendRequest(nil, version, snapshot) })
		used, size := len(Composite().AppendRequest(nil, version, snapshot)), RequestSize(snapshot)
		if used > size || used < size*8/10 {
			t.Errorf("%s: the request has %d bytes, %d were set aside", version, used, size)
		}
	}
}

// inBothFormats runs each case of a table in the formats of both kinds of controllers.
func inBothFormats[T any](t *testing.T, tests map[string]T, run func(*testing.T, Format, T)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Run("composite", func(t *testing.T) { run(t, Composite(), test) })
			t.Run("decorator", func(t *testing.T) { run(t, Decorator(), test) })
		})
	}
}

// says translates the field names of the composite format into those of f.
func (f Format) says(text string) string {
	return strings.NewReplacer(`"parent":`, `"`+f.parent+`":`, `"children"`, `"`+f.children+`"`,
		"children[", f.children+"[", "children must", f.children+" must").Replace(text)
}
