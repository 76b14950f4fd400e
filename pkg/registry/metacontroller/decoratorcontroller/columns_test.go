// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decoratorcontroller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

const headings = "NAME PARENT CHILDREN READY SYNCED PARENTS FAILING WARNED OUTDATED AGE | HOOK REASON RESYNC\n"

func TestTable(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"an object without anything": {
			object: header + "metadata: {name: a}}",
			want: "a <none> <none> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> " +
				"| <none> <none> <none>",
		},
		"a running controller": {
			object: header + `
metadata: {name: service-per-pod},
spec: {
  resources: [{apiVersion: apps/v1, resource: statefulsets}, {apiVersion: v1, resource: pods}],
  attachments: [{apiVersion: v1, resource: services}],
  hooks: {sync: {webhook: {url: "http://hooks/sync"}}},
  resyncPeriodSeconds: 60},
status: {
  conditions: [{type: Ready, status: "False", reason: ResourceNotFound}],
  parents: {total: 3, synced: 3, failing: 0}}}`,
			want: "service-per-pod statefulsets.apps,pods services False <unknown> 3 0 0 <unknown> <unknown> " +
				"| http://hooks/sync ResourceNotFound 60s",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := registrytest.Decode[runtime.Object](t, test.object)
			if diff := cmp.Diff(headings+test.want, registrytest.Table(t, newTable(), object)); diff != "" {
				t.Errorf("table differs (-want +got):\n%s", diff)
			}
		})
	}
}
