// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestValidateCompositeController(t *testing.T) {
	tests := map[string]struct {
		patch string
		want  []string
	}{
		"a minimal controller": {
			patch: "{}",
		},
		"no child types: a controller may only keep the parent's status": {
			patch: "spec: {childResources: []}",
		},
		"the same child type twice: the original merges the two": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: pods}]}",
		},
		"a resync period below a second: it counts as one": {
			patch: "spec: {resyncPeriodSeconds: -1}",
		},
		"only a finalize hook: it runs when parents are deleted": {
			patch: `spec: {hooks: {sync: null, finalize: {webhook: {url: "http://hooks.example/finalize"}}}}`,
		},
		"the hooks that are never called may be anything": {
			patch: `spec: {hooks: {sync: {webhook: {url: "http://hooks.example/sync"}}, preUpdateChild: {webhook: {timeout: soon}}}}`,
		},
		"a name that is no DNS name": {
			patch: "metadata: {name: Not_Valid}",
			want:  []string{`metadata.name: Invalid value: "Not_Valid": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		},
		"everything missing is said at once": {
			patch: "spec: null",
			want: []string{
				`spec.parentResource.apiVersion: Required value: must be "group/version", such as "apps/v1", or "version" for the core group, such as "v1"`,
				`spec.parentResource.resource: Required value: must be the plural, lower-case name of the resource, such as "deployments"`,
				`spec.hooks: Required value: a sync hook with a webhook or inline is required: it returns the desired state ` +
					`of each parent`,
			},
		},
		"a parent type that cannot exist": {
			patch: "spec: {parentResource: {apiVersion: example.com/v1/foos, resource: Foo}}",
			want: []string{
				`spec.parentResource.apiVersion: Invalid value: "example.com/v1/foos": must be "group/version", such as "apps/v1", or "version" for the core group, such as "v1"`,
				`spec.parentResource.resource: Invalid value: "Foo": must be the plural, lower-case name of the resource, such as "deployments"`,
			},
		},
		"a subresource as child type": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods/status}]}",
			want:  []string{`spec.childResources[0].resource: Invalid value: "pods/status": must be the plural, lower-case name of the resource, such as "deployments"`},
		},
		"a group without a name": {
			patch: "spec: {childResources: [{apiVersion: /v1, resource: pods}]}",
			want:  []string{`spec.childResources[0].apiVersion: Invalid value: "/v1": must be "group/version", such as "apps/v1", or "version" for the core group, such as "v1"`},
		},
		"an unknown update method": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: Rolling}}]}",
			want:  []string{`spec.childResources[0].updateStrategy.method: Unsupported value: "Rolling": supported values: "OnDelete", "Recreate", "InPlace", "RollingRecreate", "RollingInPlace"`},
		},
		"either apply strategy": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods, updateStrategy: {apply: DynamicApply}}, {apiVersion: v1, resource: secrets, updateStrategy: {apply: ServerSideApply}}]}",
		},
		"an unknown apply strategy": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods, updateStrategy: {apply: server-side-apply}}]}",
			want:  []string{`spec.childResources[0].updateStrategy.apply: Unsupported value: "server-side-apply": supported values: "DynamicApply", "ServerSideApply"`},
		},
		"a status check without a type": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods, updateStrategy: {statusChecks: {conditions: [{status: 'True'}]}}}]}",
			want:  []string{`spec.childResources[0].updateStrategy.statusChecks.conditions[0].type: Required value: must be the type of a condition in the child's status, such as "Ready"`},
		},
		"a pace and a partition of a rolling update": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods, updateStrategy: {maxUnavailable: 3, partition: 0}}, {apiVersion: v1, resource: secrets, updateStrategy: {maxUnavailable: 100%, partition: 7}}]}",
		},
		"a rolling update that could never move": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods, updateStrategy: {maxUnavailable: 0, partition: -1}}, {apiVersion: v1, resource: secrets, updateStrategy: {maxUnavailable: 0%}}]}",
			want: []string{
				`spec.childResources[0].updateStrategy.maxUnavailable: Invalid value: "0": must be an integer of 1 or more, or ` +
					`a percentage from "1%" to "100%"`,
				`spec.childResources[0].updateStrategy.partition: Invalid value: -1: must be 0 or more: the number of children ` +
					`that a rolling update does not move`,
				`spec.childResources[1].updateStrategy.maxUnavailable: Invalid value: "0%": must be an integer of 1 or more, or ` +
					`a percentage from "1%" to "100%"`,
			},
		},
		"a pace that is no percentage": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods, updateStrategy: {maxUnavailable: '3'}}, {apiVersion: v1, resource: secrets, updateStrategy: {maxUnavailable: 101%}}]}",
			want: []string{
				`spec.childResources[0].updateStrategy.maxUnavailable: Invalid value: "3": must be an integer of 1 or more, or ` +
					`a percentage from "1%" to "100%"`,
				`spec.childResources[1].updateStrategy.maxUnavailable: Invalid value: "101%": must be an integer of 1 or more, ` +
					`or a percentage from "1%" to "100%"`,
			},
		},
		"an unknown operator in the label selector": {
			patch: "spec: {parentResource: {apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: Is, values: [b]}]}}}",
			want:  []string{`spec.parentResource.labelSelector.matchExpressions[0].operator: Unsupported value: "Is": supported values: "In", "NotIn", "Exists", "DoesNotExist"`},
		},
		"a label value that no label can have": {
			patch: "spec: {parentResource: {apiVersion: v1, resource: pods, labelSelector: {matchLabels: {a: b c}}}}",
			want:  []string{`spec.parentResource.labelSelector.matchLabels[a]: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		},
		"no hook at all": {
			patch: "spec: {hooks: {sync: null}}",
			want: []string{`spec.hooks.sync: Required value: a sync hook with a webhook or inline is required: it ` +
				`returns the desired state of each parent`},
		},
		"a sync hook without a webhook": {
			patch: "spec: {hooks: {sync: {version: v2, webhook: null}}}",
			want: []string{`spec.hooks.sync: Required value: a sync hook with a webhook or inline is required: it ` +
				`returns the desired state of each parent`},
		},
		"a finalize hook without a webhook": {
			patch: `spec: {hooks: {finalize: {version: v2}}}`,
			want: []string{`spec.hooks.finalize.webhook: Required value: a finalize hook needs a webhook or inline: set ` +
				`one, or remove the hook`},
		},
		"the longest name that a finalizer can hold": {
			patch: `{metadata: {name: a23456789b123456789c123456789d123456789e123}, spec: {hooks: {finalize: {webhook: {url: "http://hooks.example/finalize"}}}}}`,
		},
		"a longer name, and a finalize hook": {
			patch: `{metadata: {name: a23456789b123456789c123456789d123456789e1234}, spec: {hooks: {finalize: {webhook: {url: "http://hooks.example/finalize"}}}}}`,
			want:  []string{`spec.hooks.finalize: Forbidden: the finalizer contains the name of the controller, so metadata.name may have at most 43 characters`},
		},
		"only a customize hook": {
			patch: `spec: {hooks: {sync: null, customize: {webhook: {url: "http://hooks.example/customize"}}}}`,
			want: []string{`spec.hooks.sync: Required value: a sync hook with a webhook or inline is required: it ` +
				`returns the desired state of each parent`},
		},
		"an unknown version of a hook that is never called": {
			patch: `spec: {hooks: {sync: {webhook: {url: "http://hooks.example/sync"}}, postUpdateChild: {version: v3}}}`,
			want:  []string{`spec.hooks.postUpdateChild.version: Unsupported value: "v3": supported values: "v1", "v2"`},
		},
		"endpoint settings that name nothing": {
			patch: "spec: {endpointConfigs: [{caBundle: {secretRef: {}}, clientTLS: {}, authorization: {secretRef: {name: a}}, basicAuth: {secretRef: {namespace: b}}}]}",
			want: []string{
				`spec.endpointConfigs[0].host: Required value: must be the host of the webhooks, with or without a port, such as "my-hooks.my-namespace:8443"`,
				`spec.endpointConfigs[0].caBundle.secretRef.name: Required value: must be the name of the Secret`,
				`spec.endpointConfigs[0].caBundle.secretRef.namespace: Required value: must be the namespace of the Secret`,
				`spec.endpointConfigs[0].clientTLS.secretRef.name: Required value: must be the name of the Secret`,
				`spec.endpointConfigs[0].clientTLS.secretRef.namespace: Required value: must be the namespace of the Secret`,
				`spec.endpointConfigs[0].authorization.secretRef.namespace: Required value: must be the namespace of the Secret`,
				`spec.endpointConfigs[0].basicAuth.secretRef.name: Required value: must be the name of the Secret`,
				`spec.endpointConfigs[0].authorization.secretRef.key: Required value: must be the key of the credential in the Secret`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := decode[*v1alpha1.CompositeController](t, patched(t, compositeController, test.patch))
			wantErrors(t, ValidateCompositeController(controller), test.want...)
		})
	}
}

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
				"spec.resources: Required value: must list the types of the objects to decorate",
				"spec.hooks: Required value: a sync hook with a webhook or inline is required: it returns the desired state " +
					"of each parent",
			},
		},
		"no hook leads anywhere": {
			patch: "spec: {hooks: {sync: null, finalize: {}}}",
			want: []string{
				"spec.hooks.sync: Required value: a sync hook with a webhook or inline is required: it returns the desired " +
					"state of each parent",
				"spec.hooks.finalize.webhook: Required value: a finalize hook needs a webhook or inline: set one, or remove " +
					"the hook",
			},
		},
		"items that name nothing": {
			patch: "spec: {resources: [{apiVersion: v1}], attachments: [{resource: services}]}",
			want: []string{
				`spec.resources[0].resource: Required value: must be the plural, lower-case name of the resource, such as "deployments"`,
				`spec.attachments[0].apiVersion: Required value: must be "group/version", such as "apps/v1", or "version" for the core group, such as "v1"`,
			},
		},
		"an unknown update method": {
			patch: "spec: {attachments: [{apiVersion: v1, resource: services, updateStrategy: {method: inplace}}]}",
			want:  []string{`spec.attachments[0].updateStrategy.method: Unsupported value: "inplace": supported values: "OnDelete", "Recreate", "InPlace", "RollingRecreate", "RollingInPlace"`},
		},
		"selectors that cannot be evaluated": {
			patch: "spec: {resources: [{apiVersion: v1, resource: pods, labelSelector: {matchExpressions: [{key: a, operator: In}]}, annotationSelector: {matchExpressions: [{key: b, operator: Exists, values: [c]}, {key: d, operator: Near}]}}]}",
			want: []string{
				"spec.resources[0].labelSelector.matchExpressions[0].values: Required value: must have at least one value for In and NotIn",
				"spec.resources[0].annotationSelector.matchExpressions[0].values: Forbidden: must be empty for Exists and DoesNotExist",
				`spec.resources[0].annotationSelector.matchExpressions[1].operator: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist"`,
			},
		},
		"endpoint settings without a host": {
			patch: "spec: {endpointConfigs: [{}]}",
			want:  []string{`spec.endpointConfigs[0].host: Required value: must be the host of the webhooks, with or without a port, such as "my-hooks.my-namespace:8443"`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := decode[*v1alpha1.DecoratorController](t, patched(t, decoratorController, test.patch))
			wantErrors(t, ValidateDecoratorController(controller), test.want...)
		})
	}
}

func TestValidateControllerStatusUpdate(t *testing.T) {
	const ready = `{type: Ready, status: "True", reason: Started, message: "", lastTransitionTime: "2025-01-01T00:00:00Z"}`
	tests := map[string]struct {
		status string
		stored string
		want   []string
	}{
		"an empty status": {status: "{}"},
		"a full status": {
			status: `{observedGeneration: 3, conditions: [` + ready + `], parents: {total: 3, synced: 2, failing: 1},
				lastError: {message: failed, parent: ns/name, time: "2025-01-01T00:00:00Z"}}`,
		},
		"counts below zero": {
			status: "{observedGeneration: -1, parents: {total: -1, synced: 0, failing: -2}}",
			want: []string{
				"status.observedGeneration: Invalid value: -1: must not be negative",
				"status.parents.total: Invalid value: -1: must not be negative",
				"status.parents.failing: Invalid value: -2: must not be negative",
			},
		},
		"two conditions of one type": {
			status: "{conditions: [" + ready + ", " + ready + "]}",
			want:   []string{`status.conditions[1]: Duplicate value: "Ready"`},
		},
		"a condition of which only the type is said": {
			status: "{conditions: [{type: Ready}]}",
			want: []string{
				"status.conditions[0].status: Required value",
				"status.conditions[0].lastTransitionTime: Required value",
				"status.conditions[0].reason: Required value",
			},
		},
		"a condition that was wrong already": {
			status: "{observedGeneration: 2, conditions: [" + ready + ", {type: Old}]}",
			stored: "{observedGeneration: 1, conditions: [{type: Old}]}",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := func(text string) *v1alpha1.ControllerStatus {
				if text == "" {
					return &v1alpha1.ControllerStatus{}
				}
				return &decode[*v1alpha1.CompositeController](t, patched(t, compositeController, "status: "+text)).Status
			}
			wantErrors(t, ValidateControllerStatusUpdate(status(test.status), status(test.stored)), test.want...)
		})
	}
}
