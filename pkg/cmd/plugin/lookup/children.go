// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Children returns the children of a parent that a controller owns, ordered by kind and name. It skips types that
// cannot be listed, and returns problems for them.
func Children(ctx context.Context, client dynamic.Interface, controller *Controller,
	parent *unstructured.Unstructured) (all []unstructured.Unstructured, problems []error) {
	for _, rule := range controller.ChildTypes() {
		version, err := schema.ParseGroupVersion(rule.APIVersion)
		if err == nil {
			var found []unstructured.Unstructured
			ofType := client.Resource(version.WithResource(rule.Resource)).Namespace(parent.GetNamespace())
			found, err = listChildren(ctx, ofType, controller, parent)
			all = append(all, found...)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("children of type %s are not shown: %w", rule.Resource, err))
		}
	}
	slices.SortFunc(all, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetKind()+"/"+a.GetNamespace()+"/"+a.GetName(),
			b.GetKind()+"/"+b.GetNamespace()+"/"+b.GetName())
	})
	// A controller may name a type twice, or in two versions.
	isSame := func(a, b unstructured.Unstructured) bool { return a.GetUID() == b.GetUID() }
	return slices.CompactFunc(all, isSame), problems
}

// listChildren returns the objects of a type that are children.
func listChildren(ctx context.Context, client dynamic.ResourceInterface, controller *Controller,
	parent *unstructured.Unstructured) (found []unstructured.Unstructured, err error) {
	options := metav1.ListOptions{}
	if composite, ok := controller.Object.(*v1alpha1.CompositeController); ok &&
		ptr.Deref(composite.Spec.GenerateSelector, false) {
		options.LabelSelector = object.GeneratedLabel + "=" + string(parent.GetUID())
	}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return client.List(ctx, options)
	})
	err = pages.EachListItem(ctx, options, func(item runtime.Object) error {
		if one := item.(*unstructured.Unstructured); isChild(one, controller, parent) {
			found = append(found, *one)
		}
		return nil
	})
	return found, err
}

// isChild reports whether an object is a child that the parent has of the controller.
func isChild(child *unstructured.Unstructured, controller *Controller, parent *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOfNoCopy(child)
	if owner == nil || owner.UID != parent.GetUID() {
		return false
	}
	decorator := child.GetAnnotations()[object.DecoratorAnnotation]
	if controller.Kind == Decorator {
		return decorator == controller.GetName()
	}
	return decorator == ""
}
