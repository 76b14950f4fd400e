// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerrevision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

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
