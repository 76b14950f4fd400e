// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

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
		"spec.namespaces: Forbidden: 65 namespaces times 258 types (spec.parentResource, spec.childResources and spec.relatedResources) are 16770, and at most 1024 are possible; use several controllers")

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
		refused = "spec.namespaces: Forbidden: 64 namespaces times 17 " + fields + " 1088, and at most 1024 are possible; use several controllers"
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
		"spec.namespaces: Forbidden: 3 namespaces times %d types (spec.resources, spec.attachments and spec.relatedResources) are %d, and at most 1024 are possible; use several controllers",
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
