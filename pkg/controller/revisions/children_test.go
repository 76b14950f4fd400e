// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func TestARevisionNamesChildrenRelativeToTheirParent(t *testing.T) {
	child := func(kind, namespace, name string) object.Key {
		return object.Key{GroupKind: schema.GroupKind{Kind: kind}, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	tests := map[string]struct {
		parent   string
		children []object.Key
		want     []v1alpha1.ControllerRevisionChildren
	}{
		"of a namespaced parent": {
			parent:   `{kind: Web, metadata: {name: shop, namespace: default}}`,
			children: []object.Key{child("Pod", "default", "b"), child("Job", "default", "x"), child("Pod", "default", "a")},
			want:     []v1alpha1.ControllerRevisionChildren{{Kind: "Job", Names: []string{"x"}}, {Kind: "Pod", Names: []string{"a", "b"}}},
		},
		"of a cluster-scoped parent": {
			parent:   `{kind: Fleet, metadata: {name: shop}}`,
			children: []object.Key{child("Pod", "one", "a"), child("Zone", "", "z")},
			want:     []v1alpha1.ControllerRevisionChildren{{Kind: "Pod", Names: []string{"one/a"}}, {Kind: "Zone", Names: []string{"z"}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parent := parse(t, test.parent)
			got := Children(parent, slices.Values(test.children))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("children differ (-want +got):\n%s", diff)
			}
			read := map[object.Key]bool{}
			for key := range NewStored(&record{Children: got}).ChildKeys(parent) {
				read[key] = true
			}
			want := map[object.Key]bool{}
			for _, key := range test.children {
				want[key] = true
			}
			if diff := cmp.Diff(want, read); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}
