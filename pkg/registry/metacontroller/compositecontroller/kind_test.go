// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package compositecontroller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestCreate(t *testing.T) {
	tests := map[string]registrytest.Write{
		"the generation starts at 1 and the status is emptied": {
			Sent: header + "metadata: {name: a, generation: 7}, spec: " + spec + ", status: {observedGeneration: 3, conditions: [{type: Ready}]}}",
			Want: header + "metadata: {name: a, generation: 1}, spec: " + spec + "}",
		},
		"an invalid object is refused, with all that is wrong": {
			Sent:       header + "metadata: {name: a}, spec: " + broken + "}",
			WantErrors: []string{"CompositeController.metacontroller.k8s.io \"a\" is invalid", "spec.parentResource.resource", "spec.hooks.sync"},
		},
		"what is odd leads to a warning": {
			Sent:         header + "metadata: {name: a}, spec: " + odd + "}",
			Want:         header + "metadata: {name: a, generation: 1}, spec: " + odd + "}",
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
