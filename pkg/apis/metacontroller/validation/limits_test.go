// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"
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
			want: []string{"spec.hooks: Required value: a sync hook with a webhook or inline is required: it returns " +
				"the desired state of each parent"},
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

// withEndpoints returns a controller with a number of endpointConfigs that no hook uses.
func withEndpoints(t *testing.T, count int) *v1alpha1.CompositeController {
	t.Helper()
	controller := decode[*v1alpha1.CompositeController](t, compositeController)
	for i := range count {
		controller.Spec.EndpointConfigs = append(controller.Spec.EndpointConfigs, v1alpha1.EndpointConfig{Host: fmt.Sprintf("host%d.example", i)})
	}
	return controller
}

func TestListsAreBounded(t *testing.T) {
	rule := v1alpha1.ResourceRule{APIVersion: "v1", Resource: "pods"}
	wantErrors(t, ValidateCompositeController(withEndpoints(t, 64)))
	composite := withEndpoints(t, 65)
	composite.Spec.ChildResources = make([]v1alpha1.CompositeControllerChildResourceRule, 257)
	for i := range composite.Spec.ChildResources {
		composite.Spec.ChildResources[i].ResourceRule = rule
	}
	for i := range 65 {
		composite.Spec.Namespaces = append(composite.Spec.Namespaces, fmt.Sprintf("namespace%d", i))
	}
	wantErrors(t, ValidateCompositeController(composite),
		"spec.namespaces: Too many: 65: must have at most 64 items",
		"spec.childResources: Too many: 257: must have at most 256 items",
		"spec.endpointConfigs: Too many: 65: must have at most 64 items",
		"spec.namespaces: Forbidden: 65 namespaces times 258 types (spec.parentResource, spec.childResources and "+
			"spec.relatedResources) are 16770, but the maximum is 1024; use several controllers")

	decorator := decode[*v1alpha1.DecoratorController](t, decoratorController)
	decorator.Spec.Resources, decorator.Spec.Attachments = nil, nil
	for range 25_000 {
		decorator.Spec.Resources = append(decorator.Spec.Resources, v1alpha1.DecoratorControllerResourceRule{ResourceRule: rule})
	}
	for range 257 {
		decorator.Spec.Attachments = append(decorator.Spec.Attachments, v1alpha1.DecoratorControllerAttachmentRule{ResourceRule: rule})
		decorator.Spec.RelatedResources = append(decorator.Spec.RelatedResources, rule)
	}
	wantErrors(t, ValidateDecoratorController(decorator),
		"spec.relatedResources: Too many: 257: must have at most 256 items",
		"spec.resources: Too many: 25000: must have at most 256 items",
		"spec.attachments: Too many: 257: must have at most 256 items")
}

func TestAListThatIsTooLongMayNotGrow(t *testing.T) {
	for name, test := range map[string]struct {
		stored, updated int
		want            []string
	}{
		"it stays as long":       {stored: 100, updated: 100},
		"it gets shorter":        {stored: 100, updated: 90},
		"it gets longer":         {stored: 100, updated: 101, want: []string{"spec.endpointConfigs: Too many: 101: must have at most 64 items"}},
		"it gets longer at once": {stored: 1, updated: 65, want: []string{"spec.endpointConfigs: Too many: 65: must have at most 64 items"}},
		"it is not too long":     {stored: 1, updated: 64},
	} {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, ValidateCompositeControllerUpdate(withEndpoints(t, test.updated), withEndpoints(t, test.stored)), test.want...)
		})
	}
}

// reaching returns a controller of so many related types and namespaces, with a type of parents and a type
// of children.
func reaching(t *testing.T, related, namespaces int) *v1alpha1.CompositeController {
	t.Helper()
	controller := withEndpoints(t, 0)
	rule := v1alpha1.ResourceRule{APIVersion: "v1", Resource: "pods"}
	controller.Spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{{ResourceRule: rule}}
	for range related {
		controller.Spec.RelatedResources = append(controller.Spec.RelatedResources, rule)
	}
	for i := range namespaces {
		controller.Spec.Namespaces = append(controller.Spec.Namespaces, fmt.Sprintf("namespace%d", i))
	}
	return controller
}

func TestTypesTimesNamespacesAreBounded(t *testing.T) {
	const (
		fields  = "types (spec.parentResource, spec.childResources and spec.relatedResources) are"
		refused = "spec.namespaces: Forbidden: 64 namespaces times 17 " + fields + " 1088, " +
			"but the maximum is 1024; use several controllers"
	)
	wantErrors(t, ValidateCompositeController(reaching(t, 14, 64)))
	wantErrors(t, ValidateCompositeController(reaching(t, 254, 0)))
	wantErrors(t, ValidateCompositeController(reaching(t, 15, 64)), refused)

	decorator := decode[*v1alpha1.DecoratorController](t, decoratorController)
	of := reaching(t, 600, 3)
	decorator.Spec.Namespaces, decorator.Spec.Attachments = of.Spec.Namespaces, nil
	for _, rule := range of.Spec.RelatedResources[:200] {
		decorator.Spec.Attachments = append(decorator.Spec.Attachments, v1alpha1.DecoratorControllerAttachmentRule{ResourceRule: rule})
	}
	decorator.Spec.RelatedResources = of.Spec.RelatedResources[:200]
	wantErrors(t, ValidateDecoratorController(decorator), fmt.Sprintf(
		"spec.namespaces: Forbidden: 3 namespaces times %d types (spec.resources, spec.attachments and "+
			"spec.relatedResources) are %d, but the maximum is 1024; use several controllers",
		400+len(decorator.Spec.Resources), 3*(400+len(decorator.Spec.Resources))))

	for name, test := range map[string]struct {
		stored, updated *v1alpha1.CompositeController
		want            []string
	}{
		"it stays":                       {stored: reaching(t, 20, 60), updated: reaching(t, 20, 60)},
		"it shrinks":                     {stored: reaching(t, 20, 60), updated: reaching(t, 19, 60)},
		"more types in fewer namespaces": {stored: reaching(t, 20, 60), updated: reaching(t, 28, 40)},
		"it grows":                       {stored: reaching(t, 14, 64), updated: reaching(t, 15, 64), want: []string{refused}},
		"it grows, and was too large": {
			stored: reaching(t, 15, 63), updated: reaching(t, 15, 64), want: []string{refused},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, ValidateCompositeControllerUpdate(test.updated, test.stored), test.want...)
		})
	}
}

// withPath returns a controller whose JSON has about size bytes.
func withPath(t *testing.T, size int) *v1alpha1.CompositeController {
	t.Helper()
	controller := decode[*v1alpha1.CompositeController](t, compositeController)
	url := "http://hooks.example/" + strings.Repeat("a", size)
	controller.Spec.Hooks.Sync.Webhook.URL = &url
	return controller
}

func TestObjectsThatTheStorageCannotTakeAreRefused(t *testing.T) {
	wantErrors(t, ValidateCompositeController(withPath(t, maxSize-10_000)))
	tooLarge := withPath(t, maxSize)
	errs := ValidateCompositeController(tooLarge)
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "spec: Too long: the object has 1500") {
		t.Errorf("errors = %v, want one that tells the size", errs)
	}
	if errs := ValidateCompositeControllerUpdate(tooLarge, withPath(t, 1)); len(errs) != 1 {
		t.Errorf("growing too large gives the errors %v, want one", errs)
	}

	decorator := decode[*v1alpha1.DecoratorController](t, decoratorController)
	decorator.Annotations = map[string]string{"a": strings.Repeat("a", 200_000)}
	wantErrors(t, ValidateDecoratorController(decorator))
	decorator.Spec.Hooks.Sync.Webhook.URL = tooLarge.Spec.Hooks.Sync.Webhook.URL
	if errs := ValidateDecoratorController(decorator); len(errs) != 1 {
		t.Errorf("a large DecoratorController gives the errors %v, want one", errs)
	}
}

func TestAnObjectThatIsTooLargeCanBeChanged(t *testing.T) {
	stored := withPath(t, maxSize)
	updated := stored.DeepCopy()
	updated.Labels = map[string]string{"a": "b"}
	wantErrors(t, ValidateCompositeControllerUpdate(updated, stored))
}
