// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decoratorcontroller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

const (
	header = "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: DecoratorController, "
	spec   = `{resources: [{apiVersion: v1, resource: pods}], hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}`
	spec2  = `{resources: [{apiVersion: v1, resource: pods}], hooks: {sync: {version: v1, webhook: {url: "http://b"}}}}`
	// broken is a spec from before there was validation.
	broken = "{resources: [{apiVersion: v1, resource: Pods}], hooks: {}}"
	stored = header + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 3}}"
)

// unread is the status of a controller that is created.
const unread = `, status: {conditions: [{type: Ready, status: Unknown, reason: NotObservedYet,
  message: the leader of the servers has not read this controller yet}]}`

func TestMainResource(t *testing.T) {
	tests := map[string]registrytest.Write{
		"a create starts the generation at 1 and says that it is not read yet": {
			Sent: header + "metadata: {name: a, generation: 7}, spec: " + spec + ", status: {observedGeneration: 3}}",
			Want: header + "metadata: {name: a, generation: 1}, spec: " + spec + unread + "}",
		},
		"a create that is invalid is refused, with all that is wrong": {
			Sent:       header + "metadata: {name: a}, spec: " + broken + "}",
			WantErrors: []string{"spec.resources[0].resource", "spec.hooks.sync"},
		},
		"a create that is odd leads to a warning": {
			Sent:         header + `metadata: {name: a}, spec: {resources: [], hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}}`,
			Want:         header + `metadata: {name: a, generation: 1}, spec: {resources: [], hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}` + unread + "}",
			WantWarnings: []string{"spec.resources: is empty, so nothing is decorated"},
		},
		"a new spec raises the generation and keeps the status": {
			Stored: stored,
			Sent:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + spec2 + ", status: {observedGeneration: 80}}",
			Want:   header + "metadata: {name: a, generation: 5, resourceVersion: '9'}, spec: " + spec2 + ", status: {observedGeneration: 3}}",
		},
		"metadata alone does not raise the generation": {
			Stored: stored,
			Sent:   header + "metadata: {name: a, labels: {b: c}, resourceVersion: '9'}, spec: " + spec + "}",
			Want:   header + "metadata: {name: a, labels: {b: c}, generation: 4, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 3}}",
		},
		"what breaks a valid spec is refused": {
			Stored:     stored,
			Sent:       header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + "}",
			WantErrors: []string{"spec.resources[0].resource", "spec.hooks.sync"},
		},
		"an object that was invalid already can lose its finalizer": {
			Stored: header + "metadata: {name: a, finalizers: [example.com/d], resourceVersion: '9'}, spec: " + broken + "}",
			Sent:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + "}",
			Want:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + "}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.Check(t, resource.NewStrategy(kind(), registrytest.NewScheme(t)))
		})
	}
}

func TestStatusSubresource(t *testing.T) {
	tests := map[string]registrytest.Write{
		"only the status changes": {
			Stored: stored,
			Sent:   header + "metadata: {name: a, resourceVersion: '9', labels: {b: c}}, spec: " + spec2 + ", status: {observedGeneration: 4}}",
			Want:   header + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 4}}",
		},
		"an invalid condition is refused": {
			Stored:     stored,
			Sent:       header + "metadata: {name: a, resourceVersion: '9'}, status: {conditions: [{type: Ready}]}}",
			WantErrors: []string{"status.conditions[0].status"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.Check(t, resource.NewStatusStrategy(resource.NewStrategy(kind(), registrytest.NewScheme(t))))
		})
	}
}

func TestResetFields(t *testing.T) {
	main := resource.NewStrategy(kind(), registrytest.NewScheme(t))
	const version = "metacontroller.k8s.io/v1alpha1"
	if diff := cmp.Diff(".status", main.GetResetFields()[version].String()); diff != "" {
		t.Errorf("reset fields of the main resource differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(".metadata\n.spec", resource.NewStatusStrategy(main).GetResetFields()[version].String()); diff != "" {
		t.Errorf("reset fields of the status differ (-want +got):\n%s", diff)
	}
}

const headings = "NAME PARENT READY PARENTS FAILING WARNED AGE | CHILDREN SYNCED OUTDATED HOOK REASON RESYNC\n"

func TestTable(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"an object without anything": {
			object: header + "metadata: {name: a}}",
			want: "a <none> <unknown> <none> <none> <none> <unknown> " +
				"| <none> <unknown> <none> <none> <none> <none>",
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
			want: "service-per-pod statefulsets,pods False 3 0 0 <unknown> " +
				"| services <unknown> <none> http://hooks/sync ResourceNotFound 60s",
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
