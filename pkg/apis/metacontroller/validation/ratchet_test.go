// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// An object from before there were rules: hardly anything in it is valid.
const oldCompositeController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: old}
spec:
  parentResource: {apiVersion: v1, resource: Foos}
  childResources:
  - {apiVersion: v1, resource: pods}
  - {apiVersion: apps/v1, resource: Deployments}
  hooks: {sync: {webhook: {url: hooks, timeout: 10 seconds}}, finalize: {}}
`

func TestAnUpdateIsRefusedOnlyForWhatItBreaks(t *testing.T) {
	const resourceForm = `must be the plural, lower-case name of the resource, such as "deployments"`
	tests := map[string]struct {
		patch string
		want  []string
	}{
		"nothing changes":                        {patch: "{}"},
		"only metadata changes":                  {patch: "metadata: {labels: {a: b}, finalizers: [example.com/a]}"},
		"something valid is added":               {patch: "spec: {resyncPeriodSeconds: 10}"},
		"one error of several is mended":         {patch: "spec: {parentResource: {resource: foos}}"},
		"a valid part beside an invalid changes": {patch: "spec: {hooks: {sync: {webhook: {timeout: 1s}}}}"},
		"an invalid item moves in its list": {
			patch: "spec: {childResources: [{apiVersion: apps/v1, resource: Deployments}]}",
		},
		"an invalid item moves, another takes its place": {
			patch: "spec: {childResources: [{apiVersion: apps/v1, resource: Deployments}, {apiVersion: v1, resource: services}]}",
		},
		"an invalid value is replaced by another": {
			patch: "spec: {parentResource: {resource: Bars}}",
			want:  []string{`spec.parentResource.resource: Invalid value: "Bars": ` + resourceForm},
		},
		"an invalid item is added": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods}, {apiVersion: apps/v1, resource: Deployments}, {apiVersion: v1, resource: Pods}]}",
			want:  []string{`spec.childResources[2].resource: Invalid value: "Pods": ` + resourceForm},
		},
		"an invalid item is doubled": {
			patch: "spec: {childResources: [{apiVersion: v1, resource: pods}, {apiVersion: apps/v1, resource: Deployments}, {apiVersion: apps/v1, resource: Deployments}]}",
			want:  []string{`spec.childResources[2].resource: Invalid value: "Deployments": ` + resourceForm},
		},
		"a hook is taken away": {
			patch: "spec: {hooks: null}",
			want:  []string{"spec.hooks: Required value: a sync hook with a webhook is needed: it answers what is to be done for each parent"},
		},
	}
	stored := decode[*v1alpha1.CompositeController](t, oldCompositeController)
	if len(ValidateCompositeController(stored)) != 5 {
		t.Fatalf("the old object is to have five errors, it has %v", ValidateCompositeController(stored))
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := decode[*v1alpha1.CompositeController](t, patched(t, oldCompositeController, test.patch))
			wantErrors(t, ValidateCompositeControllerUpdate(updated, stored), test.want...)
		})
	}
}

// Settings that no hook used do not matter until one does.
func TestAnEndpointConfigIsLookedAtWhenAHookComesToUseIt(t *testing.T) {
	stored := patched(t, compositeController, "spec: {endpointConfigs: [{host: elsewhere.example}, {host: other.example, caBundle: {}}]}")
	wantErrors(t, ValidateCompositeController(decode[*v1alpha1.CompositeController](t, stored)))
	for name, test := range map[string]struct {
		patch string
		want  []string
	}{
		"the hook moves to its host": {
			patch: `spec: {hooks: {sync: {webhook: {url: "https://other.example/sync"}}}}`,
			want:  []string{"spec.endpointConfigs[1].caBundle: Required value: must have one of inline, secretRef and configMapRef"},
		},
		"its host becomes that of the hook": {
			patch: "spec: {endpointConfigs: [{host: hooks.example, caBundle: {}}]}",
			want:  []string{"spec.endpointConfigs[0].caBundle: Required value: must have one of inline, secretRef and configMapRef"},
		},
		"the hook moves elsewhere": {patch: `spec: {hooks: {sync: {webhook: {url: "https://elsewhere.example/sync"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			updated := decode[*v1alpha1.CompositeController](t, patched(t, stored, test.patch))
			wantErrors(t, ValidateCompositeControllerUpdate(updated, decode[*v1alpha1.CompositeController](t, stored)), test.want...)
		})
	}
}

// From before these rules.
func TestOldConnectionSettingsStayEditable(t *testing.T) {
	const old = `spec: {endpointConfigs: [{host: hooks.example, authorization: {type: basic, secretRef: {name: a, namespace: b, key: c}}, basicAuth: {secretRef: {name: a, namespace: b}}}],
		parentResource: {labelSelector: {matchExpressions: [{key: a, operator: Is}]}}, hooks: {sync: {webhook: {responseUnMarshallMode: lax}}}}`
	stored := patched(t, compositeController, old)
	if errs := ValidateCompositeController(decode[*v1alpha1.CompositeController](t, stored)); len(errs) != 4 {
		t.Fatalf("the old object is to have four errors, it has %v", errs)
	}
	for name, patch := range map[string]string{
		"only a label changes":        "metadata: {labels: {a: b}}",
		"something else changes":      "spec: {resyncPeriodSeconds: 60, hooks: {sync: {webhook: {timeout: 5s}}}}",
		"one of the errors is mended": "spec: {parentResource: {labelSelector: null}}",
		"an item comes before it": `spec: {endpointConfigs: [{host: elsewhere.example}, {host: hooks.example, authorization: {type: basic, secretRef: {name: a, namespace: b, key: c}},
			basicAuth: {secretRef: {name: a, namespace: b}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			updated := decode[*v1alpha1.CompositeController](t, patched(t, stored, patch))
			wantErrors(t, ValidateCompositeControllerUpdate(updated, decode[*v1alpha1.CompositeController](t, stored)))
		})
	}
}

func TestEveryKindRatchets(t *testing.T) {
	decorator := decode[*v1alpha1.DecoratorController](t, patched(t, decoratorController, "spec: null"))
	wantErrors(t, ValidateDecoratorControllerUpdate(decorator.DeepCopy(), decorator))
	valid := decode[*v1alpha1.DecoratorController](t, decoratorController)
	if errs := ValidateDecoratorControllerUpdate(decorator, valid); len(errs) != 2 {
		t.Errorf("emptying a valid DecoratorController gives the errors %v, want two", errs)
	}

	revision := decode[*v1alpha1.ControllerRevision](t, patched(t, controllerRevision, "parentPatch: null"))
	wantErrors(t, ValidateControllerRevisionUpdate(revision.DeepCopy(), revision))
	if errs := ValidateControllerRevisionUpdate(revision, decode[*v1alpha1.ControllerRevision](t, controllerRevision)); len(errs) != 1 {
		t.Errorf("emptying a valid ControllerRevision gives the errors %v, want one", errs)
	}
}
