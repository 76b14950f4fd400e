// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerrevision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

const (
	header  = "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: ControllerRevision, "
	content = `parentPatch: {"spec":{"a":1,"b":2}}, children: [{apiGroup: "", kind: Pod, names: [x]}]}`
	stored  = header + "metadata: {name: a, namespace: ns, generation: 4, resourceVersion: '9'}, " + content
)

func TestMainResource(t *testing.T) {
	tests := map[string]registrytest.Write{
		"a create starts the generation at 1": {
			Sent: header + "metadata: {name: a, namespace: ns, generation: 7}, " + content,
			Want: header + "metadata: {name: a, namespace: ns, generation: 1}, " + content,
		},
		"a create without parentPatch is refused": {
			Sent:       header + "metadata: {name: a, namespace: ns}}",
			WantErrors: []string{"parentPatch: Required value"},
		},
		"other children raise the generation": {
			Stored: stored,
			Sent:   header + `metadata: {name: a, namespace: ns, resourceVersion: '9'}, parentPatch: {"spec":{"a":1,"b":2}}}`,
			Want:   header + `metadata: {name: a, namespace: ns, generation: 5, resourceVersion: '9'}, parentPatch: {"spec":{"a":1,"b":2}}}`,
		},
		"another parentPatch raises the generation": {
			Stored: stored,
			Sent:   header + `metadata: {name: a, namespace: ns, resourceVersion: '9'}, parentPatch: {"spec":{"a":2}}, children: [{apiGroup: "", kind: Pod, names: [x]}]}`,
			Want:   header + `metadata: {name: a, namespace: ns, generation: 5, resourceVersion: '9'}, parentPatch: {"spec":{"a":2}}, children: [{apiGroup: "", kind: Pod, names: [x]}]}`,
		},
		"metadata alone does not": {
			Stored: stored,
			Sent:   header + "metadata: {name: a, namespace: ns, labels: {b: c}, resourceVersion: '9'}, " + content,
			Want:   header + "metadata: {name: a, namespace: ns, labels: {b: c}, generation: 4, resourceVersion: '9'}, " + content,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.Check(t, resource.NewStrategy(kind(), registrytest.NewScheme(t)))
		})
	}
}

func TestTheStatusSubresourceChangesNothing(t *testing.T) {
	write := registrytest.Write{
		Stored: stored,
		Sent:   header + `metadata: {name: a, namespace: ns, labels: {b: c}, resourceVersion: '9'}, parentPatch: {}, children: []}`,
		Want:   stored,
	}
	write.Check(t, resource.NewStatusStrategy(resource.NewStrategy(kind(), registrytest.NewScheme(t))))
}

func TestTheSameParentPatchWrittenInAnotherWayIsTheSame(t *testing.T) {
	strategy := resource.NewStrategy(kind(), registrytest.NewScheme(t))
	before := registrytest.Decode[*controllerRevision](t, stored)
	sent := before.DeepCopy()
	sent.ParentPatch.Raw = []byte(` { "spec" : { "b" : 2, "a" : 1 } } `)

	strategy.PrepareForUpdate(t.Context(), sent, before)

	if got, want := string(sent.ParentPatch.Raw), string(before.ParentPatch.Raw); got != want {
		t.Errorf("parentPatch is stored as %s, want %s", got, want)
	}
	if sent.Generation != before.Generation {
		t.Errorf("generation = %d, want %d as before", sent.Generation, before.Generation)
	}
}

func TestResetFields(t *testing.T) {
	main := resource.NewStrategy(kind(), registrytest.NewScheme(t))
	if fields := main.GetResetFields(); len(fields) != 0 {
		t.Errorf("reset fields of the main resource = %v, want none", fields)
	}
	const version = "metacontroller.k8s.io/v1alpha1"
	if diff := cmp.Diff(".children\n.metadata\n.parentPatch", resource.NewStatusStrategy(main).GetResetFields()[version].String()); diff != "" {
		t.Errorf("reset fields of the status differ (-want +got):\n%s", diff)
	}
}

func TestTable(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"a revision without anything": {
			object: header + "metadata: {name: a, namespace: ns}}",
			want:   "a <none> a 0 false <unknown>",
		},
		"a revision of a parent": {
			object: header + `
metadata: {
  name: catsets.ctl.example.com-0123456789abcdef0123456789abcdef01234567, namespace: ns,
  annotations: {metacontroller.k8s.io/current: "true"},
  ownerReferences: [{apiVersion: v1, kind: Other, name: b}, {apiVersion: ctl.example.com/v1, kind: CatSet, name: nginx, controller: true}]},
parentPatch: {},
children: [{apiGroup: "", kind: Pod, names: [a, b, c]}, {apiGroup: apps, kind: Deployment, names: [d]}]}`,
			want: "catsets.ctl.example.com-0123456789abcdef0123456789abcdef01234567 CatSet/nginx 0123456789 4 true <unknown>",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := registrytest.Decode[runtime.Object](t, test.object)
			want := "NAME PARENT REVISION CHILDREN CURRENT AGE\n" + test.want
			if diff := cmp.Diff(want, registrytest.Table(t, newTable(), object)); diff != "" {
				t.Errorf("table differs (-want +got):\n%s", diff)
			}
		})
	}
}
