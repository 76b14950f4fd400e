// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package compositecontroller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

const (
	header = "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, "
	spec   = `{parentResource: {apiVersion: v1, resource: foos}, hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}`
	spec2  = `{parentResource: {apiVersion: v1, resource: foos}, hooks: {sync: {version: v1, webhook: {url: "http://b"}}}}`
	// broken is a spec from before there was validation.
	broken = "{parentResource: {apiVersion: v1, resource: Foos}, hooks: {}}"
	// odd is a spec with something to warn of.
	odd    = `{parentResource: {apiVersion: v1, resource: foos}, hooks: {sync: {version: v1, webhook: {url: "http://a"}}, preUpdateChild: {}}}`
	warned = "spec.hooks.preUpdateChild: is never called"
)

// unread is the status of a controller that is created.
const unread = `, status: {conditions: [{type: Ready, status: Unknown, reason: NotObservedYet,
  message: the leader of the servers has not read this controller yet}]}`

func TestCreate(t *testing.T) {
	tests := map[string]registrytest.Write{
		"the generation starts at 1 and the status says that it is not read yet": {
			Sent: header + "metadata: {name: a, generation: 7}, spec: " + spec + ", status: {observedGeneration: 3, conditions: [{type: Ready}]}}",
			Want: header + "metadata: {name: a, generation: 1}, spec: " + spec + unread + "}",
		},
		"an invalid object is refused, with all that is wrong": {
			Sent:       header + "metadata: {name: a}, spec: " + broken + "}",
			WantErrors: []string{"CompositeController.metacontroller.k8s.io \"a\" is invalid", "spec.parentResource.resource", "spec.hooks.sync"},
		},
		"what is odd leads to a warning": {
			Sent:         header + "metadata: {name: a}, spec: " + odd + "}",
			Want:         header + "metadata: {name: a, generation: 1}, spec: " + odd + unread + "}",
			WantWarnings: []string{warned},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.Check(t, resource.NewStrategy(kind(), registrytest.NewScheme(t)))
		})
	}
}

func TestUpdate(t *testing.T) {
	const stored = header + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 3}}"
	tests := map[string]registrytest.Write{
		"a new spec raises the generation": {
			Stored: stored,
			Sent:   header + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + spec2 + ", status: {observedGeneration: 3}}",
			Want:   header + "metadata: {name: a, generation: 5, resourceVersion: '9'}, spec: " + spec2 + ", status: {observedGeneration: 3}}",
		},
		"metadata alone does not": {
			Stored: stored,
			Sent:   header + "metadata: {name: a, labels: {b: c}, finalizers: [example.com/d], resourceVersion: '9'}, spec: " + spec + "}",
			Want:   header + "metadata: {name: a, labels: {b: c}, finalizers: [example.com/d], generation: 4, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 3}}",
		},
		"neither generation nor status can be set": {
			Stored: stored,
			Sent:   header + "metadata: {name: a, generation: 80, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 80, conditions: [{type: Ready}]}}",
			Want:   header + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 3}}",
		},
		"what breaks a valid spec is refused": {
			Stored:     stored,
			Sent:       header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + "}",
			WantErrors: []string{"spec.parentResource.resource", "spec.hooks.sync"},
		},
		"an object that was invalid already can lose its finalizer": {
			Stored: header + "metadata: {name: a, generation: 1, finalizers: [example.com/d], resourceVersion: '9'}, spec: " + broken + "}",
			Sent:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + "}",
			Want:   header + "metadata: {name: a, generation: 1, resourceVersion: '9'}, spec: " + broken + "}",
		},
		"a label on an odd object leads to no warning": {
			Stored: header + "metadata: {name: a, resourceVersion: '9'}, spec: " + odd + "}",
			Sent:   header + "metadata: {name: a, labels: {b: c}, resourceVersion: '9'}, spec: " + odd + "}",
			Want:   header + "metadata: {name: a, labels: {b: c}, resourceVersion: '9'}, spec: " + odd + "}",
		},
		"an odd spec leads to a warning": {
			Stored:       stored,
			Sent:         header + "metadata: {name: a, resourceVersion: '9'}, spec: " + odd + "}",
			Want:         header + "metadata: {name: a, generation: 5, resourceVersion: '9'}, spec: " + odd + ", status: {observedGeneration: 3}}",
			WantWarnings: []string{warned},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.Check(t, resource.NewStrategy(kind(), registrytest.NewScheme(t)))
		})
	}
}

func TestStatusUpdate(t *testing.T) {
	const stored = header + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 3}}"
	tests := map[string]registrytest.Write{
		"only the status changes, and who applied what": {
			Stored: stored,
			Sent: header + "metadata: {name: a, generation: 5, resourceVersion: '9', labels: {b: c}, finalizers: [example.com/d], managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1}]}, spec: " +
				spec2 + ", status: {observedGeneration: 4, parents: {total: 1, synced: 1, failing: 0}}}",
			Want: header + "metadata: {name: a, generation: 4, resourceVersion: '9', managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1}]}, spec: " +
				spec + ", status: {observedGeneration: 4, parents: {total: 1, synced: 1, failing: 0}}}",
		},
		"the status of an object that was invalid already can be written": {
			Stored: header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + "}",
			Sent:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + ", status: {observedGeneration: 1}}",
			Want:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + broken + ", status: {observedGeneration: 1}}",
		},
		"an invalid condition is refused": {
			Stored:     stored,
			Sent:       header + "metadata: {name: a, resourceVersion: '9'}, status: {conditions: [{type: Ready}]}}",
			WantErrors: []string{"status.conditions[0].status", "status.conditions[0].reason"},
		},
		"an odd spec leads to no warning": {
			Stored: header + "metadata: {name: a, resourceVersion: '9'}, spec: " + odd + "}",
			Sent:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + spec + ", status: {observedGeneration: 1}}",
			Want:   header + "metadata: {name: a, resourceVersion: '9'}, spec: " + odd + ", status: {observedGeneration: 1}}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.Check(t, resource.NewStatusStrategy(resource.NewStrategy(kind(), registrytest.NewScheme(t))))
		})
	}
}

func TestObjectsAreWrittenAsThoseOfACRD(t *testing.T) {
	main := resource.NewStrategy(kind(), registrytest.NewScheme(t))
	status := resource.NewStatusStrategy(main)
	ctx := genericapirequest.NewContext()
	if main.NamespaceScoped() || main.AllowCreateOnUpdate(ctx) || main.AllowUnconditionalUpdate(ctx) {
		t.Error("CompositeControllers are cluster-scoped, not created by a PUT, and not replaced without a resourceVersion")
	}
	const version = "metacontroller.k8s.io/v1alpha1"
	if diff := cmp.Diff(".status", main.GetResetFields()[version].String()); diff != "" {
		t.Errorf("reset fields of the main resource differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(".metadata\n.spec", status.GetResetFields()[version].String()); diff != "" {
		t.Errorf("reset fields of the status differ (-want +got):\n%s", diff)
	}
}

const headings = "NAME PARENT READY PARENTS FAILING WARNED AGE | CHILDREN SYNCED OUTDATED HOOK REASON RESYNC\n"

func TestTable(t *testing.T) {
	tests := map[string]struct{ object, want string }{
		"an object without anything": {
			object: header + "metadata: {name: a}}",
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> <none> <none> <none>",
		},
		"a controller that has not been looked at yet": {
			object: header + `metadata: {name: a}, spec: {parentResource: {apiVersion: v1, resource: nodes}, hooks: {sync: {webhook: {url: "http://hooks/sync"}}}}}`,
			want:   "a nodes <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> http://hooks/sync <none> <none>",
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
  conditions: [{type: HooksReachable, status: "False", reason: CallFailed}, {type: Ready, status: "True", reason: AllParentsFailing},
    {type: ParentsSynced, status: "False", reason: ParentsFailing}],
  parents: {total: 12, synced: 11, failing: 1, warned: 2}, children: {outdated: 4}}}`,
			want: "catset catsets True 12 1 2 <unknown> " +
				"| pods,deployments.apps False 4 http://hooks.ns:80/sync CallFailed 30s",
		},
		"of several conditions, the reason is the gravest": {
			object: header + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "True", reason: Running}, {type: Warnings, status: "True", reason: UnknownField}]}}`,
			want: "a  True <none> <none> <none> <unknown> | <none> <unknown> <none> <none> UnknownField <none>",
		},
		"a paused one says so": {
			object: header + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "True", reason: Running}, {type: ParentsSynced, status: Unknown, reason: Paused}, {type: Paused, status: "True", reason: ParentsPaused}]}}`,
			want: "a  True <none> <none> <none> <unknown> | <none> Unknown <none> <none> ParentsPaused <none>",
		},
		"a failure is graver than that it is paused": {
			object: header + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "False", reason: Forbidden}, {type: Paused, status: "True", reason: Paused}]}}`,
			want: "a  False <none> <none> <none> <unknown> | <none> <unknown> <none> <none> Forbidden <none>",
		},
		"many children are counted": {
			object: header + `
metadata: {name: a},
spec: {
  parentResource: {apiVersion: v1, resource: nodes},
  childResources: [{apiVersion: v1, resource: a}, {apiVersion: v1, resource: b}, {apiVersion: v1, resource: c}, {apiVersion: v1, resource: d}, {apiVersion: v1, resource: e}],
  hooks: {sync: {webhook: {service: {name: hooks, namespace: ns, port: 443, protocol: https}}}},
  resyncPeriodSeconds: 0}}`,
			want: "a nodes <unknown> <none> <none> <none> <unknown> " +
				"| a,b,c,+2 <unknown> <none> https://hooks.ns:443 <none> 1s",
		},
		"what may be secret in a URL is not shown": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "https://user:password@hooks/sync?token=secret#secret"}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> https://hooks/sync <none> <none>",
		},
		"an empty url is none, and an empty protocol is http": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "", service: {name: hooks, namespace: ns, protocol: ""}, path: "/sync#secret"}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> http://hooks.ns:80/sync <none> <none>",
		},
		"an empty url without a service": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: ""}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> <none> <none> <none>",
		},
		"a URL that is none is not shown": {
			object: header + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "http://user:secret@[/"}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> <unknown> <none> <none>",
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
