// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

const (
	compositeHeader = "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, "
	compositeSpec   = `{parentResource: {apiVersion: v1, resource: foos}, hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}`
	compositeSpec2  = `{parentResource: {apiVersion: v1, resource: foos}, hooks: {sync: {version: v1, webhook: {url: "http://b"}}}}`
	// brokenCompositeSpec is a spec from before there was validation.
	brokenCompositeSpec = "{parentResource: {apiVersion: v1, resource: Foos}, hooks: {}}"
	// oddCompositeSpec is a spec with something to warn of.
	oddCompositeSpec = `{parentResource: {apiVersion: v1, resource: foos}, hooks: {sync: {version: v1, webhook: {url: "http://a"}}, preUpdateChild: {}}}`
	oddWarning       = "spec.hooks.preUpdateChild: has no effect: the server never calls this hook"

	storedComposite = compositeHeader + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + compositeSpec + ", status: {observedGeneration: 3}}"
)

func TestCreatesOfCompositeControllers(t *testing.T) {
	tests := writes{
		"the generation starts at 1 and the status says that it is not read yet": {
			Sent: compositeHeader + "metadata: {name: a, generation: 7}, spec: " + compositeSpec + ", status: {observedGeneration: 3, conditions: [{type: Ready}]}}",
			Want: compositeHeader + "metadata: {name: a, generation: 1}, spec: " + compositeSpec + unread + "}",
		},
		"an invalid object is refused, with all that is wrong": {
			Sent:       compositeHeader + "metadata: {name: a}, spec: " + brokenCompositeSpec + "}",
			WantErrors: []string{"CompositeController.metacontroller.k8s.io \"a\" is invalid", "spec.parentResource.resource", "spec.hooks.sync"},
		},
		"what is odd leads to a warning": {
			Sent:         compositeHeader + "metadata: {name: a}, spec: " + oddCompositeSpec + "}",
			Want:         compositeHeader + "metadata: {name: a, generation: 1}, spec: " + oddCompositeSpec + unread + "}",
			WantWarnings: []string{oddWarning},
		},
	}
	tests.check(t, newStrategy(compositeControllers(), registrytest.NewScheme(t)))
}

func TestUpdatesOfCompositeControllers(t *testing.T) {
	tests := writes{
		"a new spec raises the generation": {
			Stored: storedComposite,
			Sent:   compositeHeader + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + compositeSpec2 + ", status: {observedGeneration: 3}}",
			Want:   compositeHeader + "metadata: {name: a, generation: 5, resourceVersion: '9'}, spec: " + compositeSpec2 + ", status: {observedGeneration: 3}}",
		},
		"metadata alone does not": {
			Stored: storedComposite,
			Sent:   compositeHeader + "metadata: {name: a, labels: {b: c}, finalizers: [example.com/d], resourceVersion: '9'}, spec: " + compositeSpec + "}",
			Want:   compositeHeader + "metadata: {name: a, labels: {b: c}, finalizers: [example.com/d], generation: 4, resourceVersion: '9'}, spec: " + compositeSpec + ", status: {observedGeneration: 3}}",
		},
		"neither generation nor status can be set": {
			Stored: storedComposite,
			Sent:   compositeHeader + "metadata: {name: a, generation: 80, resourceVersion: '9'}, spec: " + compositeSpec + ", status: {observedGeneration: 80, conditions: [{type: Ready}]}}",
			Want:   compositeHeader + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + compositeSpec + ", status: {observedGeneration: 3}}",
		},
		"what breaks a valid spec is refused": {
			Stored:     storedComposite,
			Sent:       compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenCompositeSpec + "}",
			WantErrors: []string{"spec.parentResource.resource", "spec.hooks.sync"},
		},
		"an object that was invalid already can lose its finalizer": {
			Stored: compositeHeader + "metadata: {name: a, generation: 1, finalizers: [example.com/d], resourceVersion: '9'}, spec: " + brokenCompositeSpec + "}",
			Sent:   compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenCompositeSpec + "}",
			Want:   compositeHeader + "metadata: {name: a, generation: 1, resourceVersion: '9'}, spec: " + brokenCompositeSpec + "}",
		},
		"a label on an odd object leads to no warning": {
			Stored: compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + oddCompositeSpec + "}",
			Sent:   compositeHeader + "metadata: {name: a, labels: {b: c}, resourceVersion: '9'}, spec: " + oddCompositeSpec + "}",
			Want:   compositeHeader + "metadata: {name: a, labels: {b: c}, resourceVersion: '9'}, spec: " + oddCompositeSpec + "}",
		},
		"an odd spec leads to a warning": {
			Stored:       storedComposite,
			Sent:         compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + oddCompositeSpec + "}",
			Want:         compositeHeader + "metadata: {name: a, generation: 5, resourceVersion: '9'}, spec: " + oddCompositeSpec + ", status: {observedGeneration: 3}}",
			WantWarnings: []string{oddWarning},
		},
	}
	tests.check(t, newStrategy(compositeControllers(), registrytest.NewScheme(t)))
}

func TestStatusUpdatesOfCompositeControllers(t *testing.T) {
	tests := writes{
		"only the status changes, and who applied what": {
			Stored: storedComposite,
			Sent: compositeHeader + "metadata: {name: a, generation: 5, resourceVersion: '9', labels: {b: c}, finalizers: [example.com/d], managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1}]}, spec: " +
				compositeSpec2 + ", status: {observedGeneration: 4, parents: {total: 1, synced: 1, failing: 0}}}",
			Want: compositeHeader + "metadata: {name: a, generation: 4, resourceVersion: '9', managedFields: [{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1}]}, spec: " +
				compositeSpec + ", status: {observedGeneration: 4, parents: {total: 1, synced: 1, failing: 0}}}",
		},
		"the status of an object that was invalid already can be written": {
			Stored: compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenCompositeSpec + "}",
			Sent:   compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenCompositeSpec + ", status: {observedGeneration: 1}}",
			Want:   compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenCompositeSpec + ", status: {observedGeneration: 1}}",
		},
		"an invalid condition is refused": {
			Stored:     storedComposite,
			Sent:       compositeHeader + "metadata: {name: a, resourceVersion: '9'}, status: {conditions: [{type: Ready}]}}",
			WantErrors: []string{"status.conditions[0].status", "status.conditions[0].reason"},
		},
		"an odd spec leads to no warning": {
			Stored: compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + oddCompositeSpec + "}",
			Sent:   compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + compositeSpec + ", status: {observedGeneration: 1}}",
			Want:   compositeHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + oddCompositeSpec + ", status: {observedGeneration: 1}}",
		},
	}
	tests.check(t, newStatusStrategy(newStrategy(compositeControllers(), registrytest.NewScheme(t))))
}

func TestObjectsAreWrittenAsThoseOfACRD(t *testing.T) {
	main := newStrategy(compositeControllers(), registrytest.NewScheme(t))
	status := newStatusStrategy(main)
	ctx := genericapirequest.NewContext()
	if main.NamespaceScoped() || main.AllowCreateOnUpdate(ctx) || main.AllowUnconditionalUpdate(ctx) {
		t.Error("CompositeControllers are cluster-scoped, not created by a PUT, and not replaced without a resourceVersion")
	}
	checkResetFields(t, main, ".status")
	checkResetFields(t, status, ".metadata\n.spec")
}

func TestTableOfCompositeControllers(t *testing.T) {
	tests := shown{
		"an object without anything": {
			object: compositeHeader + "metadata: {name: a}}",
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> <none> <none> <none>",
		},
		"a controller that has not been looked at yet": {
			object: compositeHeader + `metadata: {name: a}, spec: {parentResource: {apiVersion: v1, resource: nodes}, hooks: {sync: {webhook: {url: "http://hooks/sync"}}}}}`,
			want:   "a nodes <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> http://hooks/sync <none> <none>",
		},
		"a running controller whose hook is down": {
			object: compositeHeader + `
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
			object: compositeHeader + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "True", reason: Running}, {type: Warnings, status: "True", reason: UnknownField}]}}`,
			want: "a  True <none> <none> <none> <unknown> | <none> <unknown> <none> <none> UnknownField <none>",
		},
		"a paused one says so": {
			object: compositeHeader + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "True", reason: Running}, {type: ParentsSynced, status: Unknown, reason: Paused}, {type: Paused, status: "True", reason: ParentsPaused}]}}`,
			want: "a  True <none> <none> <none> <unknown> | <none> Unknown <none> <none> ParentsPaused <none>",
		},
		"a failure is graver than that it is paused": {
			object: compositeHeader + `
metadata: {name: a},
status: {
  conditions: [{type: Ready, status: "False", reason: Forbidden}, {type: Paused, status: "True", reason: Paused}]}}`,
			want: "a  False <none> <none> <none> <unknown> | <none> <unknown> <none> <none> Forbidden <none>",
		},
		"many children are counted": {
			object: compositeHeader + `
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
			object: compositeHeader + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "https://user:password@hooks/sync?token=secret#secret"}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> https://hooks/sync <none> <none>",
		},
		"an empty url is none, and an empty protocol is http": {
			object: compositeHeader + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "", service: {name: hooks, namespace: ns, protocol: ""}, path: "/sync#secret"}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> http://hooks.ns:80/sync <none> <none>",
		},
		"an empty url without a service": {
			object: compositeHeader + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: ""}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> <none> <none> <none>",
		},
		"a URL that is none is not shown": {
			object: compositeHeader + `metadata: {name: a}, spec: {hooks: {sync: {webhook: {url: "http://user:secret@[/"}}}}}`,
			want:   "a  <unknown> <none> <none> <none> <unknown> | <none> <unknown> <none> <unknown> <none> <none>",
		},
	}
	tests.check(t, compositeControllers().table, controllerHeadings)
}
