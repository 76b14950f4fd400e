// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestValidateDecoratorController(t *testing.T) {
	tests := map[string]struct {
		patch string
		want  []string
	}{
		"a minimal controller":                           {patch: "{}"},
		"an empty list of targets: it only does nothing": {patch: "spec: {resources: []}"},
		"no attachments":                                 {patch: "spec: {attachments: null}"},
		"a rolling method: it acts as the plain one": {
			patch: "spec: {attachments: [{apiVersion: v1, resource: services, updateStrategy: {method: RollingInPlace}}]}",
		},
		"an annotation value that no label can have": {
			patch: "spec: {resources: [{apiVersion: v1, resource: pods, annotationSelector: {matchAnnotations: {a: 'any text, of any length'}, matchExpressions: [{key: b, operator: In, values: ['x y']}]}}]}",
		},
		"everything missing is said at once": {
			patch: "spec: null",
			want: []string{
				"spec.resources: Required value: lists the types of the objects to decorate",
				"spec.hooks: Required value: a sync hook with a webhook is needed: it answers what is to be done for each parent",
			},
		},
		"no hook leads anywhere": {
			patch: "spec: {hooks: {sync: null, finalize: {}}}",
			want: []string{
				"spec.hooks.sync: Required value: a sync hook with a webhook is needed: it answers what is to be done for each parent",
				"spec.hooks.finalize.webhook: Required value: says where the hook is: without it nothing could be asked when an object is deleted, so leave out the hook",
			},
		},
		"items that name nothing": {
			patch: "spec: {resources: [{apiVersion: v1}], attachments: [{resource: services}]}",
			want: []string{
				`spec.resources[0].resource: Required value: is the plural, lower-case name of the resource, such as "deployments"`,
				`spec.attachments[0].apiVersion: Required value: is "group/version", such as "apps/v1", or "version" for the core group, such as "v1"`,
			},
		},
		"an unknown update method": {
			patch: "spec: {attachments: [{apiVersion: v1, resource: services, updateStrategy: {method: inplace}}]}",
			want:  []string{`spec.attachments[0].updateStrategy.method: Unsupported value: "inplace": supported values: "OnDelete", "Recreate", "InPlace", "RollingRecreate", "RollingInPlace"`},
		},
		"selectors that cannot be evaluated": {
			patch: "spec: {resources: [{apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: In}]}, annotationSelector: {matchExpressions: [{key: b, operator: Exists, values: [c]}, {key: d, operator: Near}]}}]}",
			want: []string{
				"spec.resources[0].labelSelector.matchExpressions[0].values: Required value: must have a value at least, for In and NotIn",
				"spec.resources[0].annotationSelector.matchExpressions[0].values: Forbidden: must be empty, for Exists and DoesNotExist",
				`spec.resources[0].annotationSelector.matchExpressions[1].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist"`,
			},
		},
		"endpoint settings without a host": {
			patch: "spec: {endpointConfigs: [{}]}",
			want:  []string{`spec.endpointConfigs[0].host: Required value: is the host of the webhooks, with or without a port, such as "my-hooks.my-namespace:8443"`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := decode[*v1alpha1.DecoratorController](t, patched(t, decoratorController, test.patch))
			wantErrors(t, ValidateDecoratorController(controller), test.want...)
		})
	}
}

func TestDecoratorControllerWarnings(t *testing.T) {
	tests := map[string]struct{ patch, want string }{
		"a minimal controller is nothing to warn of": {patch: "{}"},
		"no targets": {
			patch: "spec: {resources: []}",
			want:  "spec.resources: is empty, so that nothing is decorated",
		},
		"only a finalize hook": {
			patch: `spec: {hooks: {sync: null, finalize: {webhook: {url: "http://hooks.example"}}}}`,
			want:  "spec.hooks.sync: has no webhook, so that only deletion is handled",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := decode[*v1alpha1.DecoratorController](t, patched(t, decoratorController, test.patch))
			wantErrors(t, ValidateDecoratorController(controller))
			wantWarnings(t, DecoratorControllerWarnings(controller), test.want)
		})
	}
}
