// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package compositecontroller

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
			want:   "a  <none> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> | <none> <none> <none>",
		},
		"a controller that has not been looked at yet": {
			object: header + `metadata: {name: a}, spec: {parentResource: {apiVersion: v1, resource: nodes}, hooks: {sync: {webhook: {url: "http://hooks/sync"}}}}}`,
			want: "a nodes <none> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> " +
				"| http://hooks/sync <none> <none>",
		},
		"a running controller whose hook is down": {
			object: header + `
metadata: {name: catset},
spec: {
  parentResource: {apiVersion: ctl.example.com/v1, resource: catsets},
  childResources: [{apiVersion: v1, resource: pods}, {apiVersion: apps/v1, resource: deployments}],
  hooks: {sync: {webhook: {service: {name: hooks, namespace: ns}, path: "/sync?token=secret"}}},
  resyncPeriodSeconds: 30},
status: {
  conditions: [{type: HooksReachable, status: "False", reason: Down}, {type: Ready, status: "True", reason: Started},
    {type: ParentsSynced, status: "False", reason: ParentsFailing}],
  parents: {total: 12, synced: 11, failing: 1, warned: 2}, children: {outdated: 4}}}`,
			want: "catset catsets.ctl.example.com pods,deployments.apps True False 12 1 2 4 <unknown> " +
				"| http://hooks.ns:80/sync Down 30s",
		},
		"of several warnings, the reason is the gravest": {
			object: header + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "True", reason: Running}, {type: FieldsKnown, status: "False", reason: UnknownField},
    {type: ChildrenAsMeant, status: "False", reason: RolloutWaiting}]}}`,
			want: "a  <none> True <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> | <none> RolloutWaiting <none>",
		},
		"that all children are deleted is graver than other warnings": {
			object: header + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "True", reason: Running}, {type: FieldsKnown, status: "False", reason: ChildrenDeleted},
    {type: ChildrenAsMeant, status: "False", reason: RolloutWaiting}]}}`,
			want: "a  <none> True <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> | <none> ChildrenDeleted <none>",
		},
		"a paused one says so": {
			object: header + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "True", reason: Running}, {type: ParentsSynced, status: Unknown, reason: Paused}, {type: Paused, status: "True", reason: ParentsPaused}]}}`,
			want: "a  <none> True Unknown <unknown> <unknown> <unknown> <unknown> <unknown> | <none> ParentsPaused <none>",
		},
		"a failure is graver than that it is paused": {
			object: header + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "False", reason: Forbidden}, {type: Paused, status: "True", reason: Paused}]}}`,
			want: "a  <none> False <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> | <none> Forbidden <none>",
		},
		"many children are counted": {
			object: header + `
metadata: {name: a},
spec: {
  parentResource: {apiVersion: v1, resource: nodes},
  childResources: [{apiVersion: v1, resource: a}, {apiVersion: v1, resource: b}, {apiVersion: v1, resource: c}, {apiVersion: v1, resource: d}, {apiVersion: v1, resource: e}],
  hooks: {sync: {webhook: {service: {name: hooks, namespace: ns, port: 443, protocol: https}}}},
  resyncPeriodSeconds: 0}}`,
			want: "a nodes a,b,c,+2 <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> " +
				"| https://hooks.ns:443 <none> 1s",
		},
		"what may be secret in a URL is not shown": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "https://user:password@hooks/sync?token=secret#secret"}}}}}`,
			want: "a  <none> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> " +
				"| https://hooks/sync <none> <none>",
		},
		"an empty url is none, and an empty protocol is http": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "", service: {name: hooks, namespace: ns, protocol: ""}, path: "/sync#secret"}}}}}`,
			want: "a  <none> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> " +
				"| http://hooks.ns:80/sync <none> <none>",
		},
		"an empty url without a service": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: ""}}}}}`,
			want:   "a  <none> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> | <none> <none> <none>",
		},
		"a URL that is none is not shown": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "http://user:secret@[/"}}}}}`,
			want:   "a  <none> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> <unknown> | <unknown> <none> <none>",
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
