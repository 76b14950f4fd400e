// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/registrytest"
)

const (
	decoratorHeader = "{apiVersion: metacontroller.k8s.io/v1alpha1, kind: DecoratorController, "
	decoratorSpec   = `{resources: [{apiVersion: v1, resource: pods}], hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}`
	decoratorSpec2  = `{resources: [{apiVersion: v1, resource: pods}], hooks: {sync: {version: v1, webhook: {url: "http://b"}}}}`
	// brokenDecoratorSpec is a spec from before there was validation.
	brokenDecoratorSpec = "{resources: [{apiVersion: v1, resource: Pods}], hooks: {}}"

	storedDecorator = decoratorHeader + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + decoratorSpec + ", status: {observedGeneration: 3}}"
)

func TestWritesOfDecoratorControllers(t *testing.T) {
	tests := writes{
		"a create starts the generation at 1 and says that it is not read yet": {
			Sent: decoratorHeader + "metadata: {name: a, generation: 7}, spec: " + decoratorSpec + ", status: {observedGeneration: 3}}",
			Want: decoratorHeader + "metadata: {name: a, generation: 1}, spec: " + decoratorSpec + unread + "}",
		},
		"a create that is invalid is refused, with all that is wrong": {
			Sent:       decoratorHeader + "metadata: {name: a}, spec: " + brokenDecoratorSpec + "}",
			WantErrors: []string{"spec.resources[0].resource", "spec.hooks.sync"},
		},
		"a create that is odd leads to a warning": {
			Sent:         decoratorHeader + `metadata: {name: a}, spec: {resources: [], hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}}`,
			Want:         decoratorHeader + `metadata: {name: a, generation: 1}, spec: {resources: [], hooks: {sync: {version: v1, webhook: {url: "http://a"}}}}` + unread + "}",
			WantWarnings: []string{"spec.resources: is empty, so the controller decorates nothing"},
		},
		"a new spec raises the generation and keeps the status": {
			Stored: storedDecorator,
			Sent:   decoratorHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + decoratorSpec2 + ", status: {observedGeneration: 80}}",
			Want:   decoratorHeader + "metadata: {name: a, generation: 5, resourceVersion: '9'}, spec: " + decoratorSpec2 + ", status: {observedGeneration: 3}}",
		},
		"metadata alone does not raise the generation": {
			Stored: storedDecorator,
			Sent:   decoratorHeader + "metadata: {name: a, labels: {b: c}, resourceVersion: '9'}, spec: " + decoratorSpec + "}",
			Want:   decoratorHeader + "metadata: {name: a, labels: {b: c}, generation: 4, resourceVersion: '9'}, spec: " + decoratorSpec + ", status: {observedGeneration: 3}}",
		},
		"what breaks a valid spec is refused": {
			Stored:     storedDecorator,
			Sent:       decoratorHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenDecoratorSpec + "}",
			WantErrors: []string{"spec.resources[0].resource", "spec.hooks.sync"},
		},
		"an object that was invalid already can lose its finalizer": {
			Stored: decoratorHeader + "metadata: {name: a, finalizers: [example.com/d], resourceVersion: '9'}, spec: " + brokenDecoratorSpec + "}",
			Sent:   decoratorHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenDecoratorSpec + "}",
			Want:   decoratorHeader + "metadata: {name: a, resourceVersion: '9'}, spec: " + brokenDecoratorSpec + "}",
		},
	}
	tests.check(t, newStrategy(decoratorControllers(), registrytest.NewScheme(t)))
}

func TestStatusUpdatesOfDecoratorControllers(t *testing.T) {
	tests := writes{
		"only the status changes": {
			Stored: storedDecorator,
			Sent:   decoratorHeader + "metadata: {name: a, resourceVersion: '9', labels: {b: c}}, spec: " + decoratorSpec2 + ", status: {observedGeneration: 4}}",
			Want:   decoratorHeader + "metadata: {name: a, generation: 4, resourceVersion: '9'}, spec: " + decoratorSpec + ", status: {observedGeneration: 4}}",
		},
		"an invalid condition is refused": {
			Stored:     storedDecorator,
			Sent:       decoratorHeader + "metadata: {name: a, resourceVersion: '9'}, status: {conditions: [{type: Ready}]}}",
			WantErrors: []string{"status.conditions[0].status"},
		},
	}
	tests.check(t, newStatusStrategy(newStrategy(decoratorControllers(), registrytest.NewScheme(t))))
}

func TestResetFieldsOfDecoratorControllers(t *testing.T) {
	main := newStrategy(decoratorControllers(), registrytest.NewScheme(t))
	checkResetFields(t, main, ".status")
	checkResetFields(t, newStatusStrategy(main), ".metadata\n.spec")
}

func TestTableOfDecoratorControllers(t *testing.T) {
	tests := shown{
		"an object without anything": {
			object: decoratorHeader + "metadata: {name: a}}",
			want: "a <none> <unknown> <none> <none> <none> <unknown> " +
				"| <none> <unknown> <none> <none> <none> <none>",
		},
		"a running controller": {
			object: decoratorHeader + `
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
	tests.check(t, decoratorControllers().table, controllerHeadings)
}
