// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// situation is what exists when a case begins.
type situation struct {
	controller *testedController
	parent     *unstructured.Unstructured
	children   []*unstructured.Unstructured
	objects    []*unstructured.Unstructured
}

// situationOf returns what exists in a case, completed as a cluster and earlier syncs would have it.
func (s *Suite) situationOf(of *Case) (*situation, error) {
	exists := &situation{}
	var err error
	if exists.parent, exists.controller, err = s.parentOf(of); err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	if err := s.completeParent(exists, of.Deleted); err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	for i, given := range of.Children {
		children, err := given.objects(of)
		for _, child := range children {
			if err == nil {
				err = s.completeChild(exists, child)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("children[%d]: %w", i, err)
		}
		exists.children = append(exists.children, children...)
	}
	for i, given := range of.Others {
		others, err := given.objects(of)
		for _, other := range others {
			if err == nil {
				err = s.types.Complete(other)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("others[%d]: %w", i, err)
		}
		// A file may have the parent, too.
		exists.objects = append(exists.objects, slices.DeleteFunc(others, func(other *unstructured.Unstructured) bool { return other.GetUID() == exists.parent.GetUID() })...)
	}
	revisions := of.Revisions
	if rolling := s.rolling(exists); len(revisions) == 0 && len(rolling) > 0 {
		revisions = []Revision{{Children: rolling}}
	}
	for i, revision := range revisions {
		stored, err := s.revision(exists, revision)
		if err != nil {
			return nil, fmt.Errorf("revisions[%d]: %w", i, err)
		}
		exists.objects = append(exists.objects, stored)
	}
	exists.objects = slices.Concat(exists.objects, exists.children, []*unstructured.Unstructured{exists.parent, exists.controller.object})
	return exists, nil
}

// completeParent completes the parent. It has the finalizer of the controller if it will get it, unless it says which
// finalizers it has, and its status is about its generation.
func (s *Suite) completeParent(exists *situation, deleted bool) error {
	parent := exists.parent
	if err := s.types.Complete(parent); err != nil {
		return err
	}
	finalizer := v1alpha1.CompositeFinalizerPrefix + exists.controller.GetName()
	if exists.controller.Kind == lookup.Decorator {
		finalizer = v1alpha1.DecoratorFinalizerPrefix + exists.controller.GetName()
	}
	_, given, _ := unstructured.NestedFieldNoCopy(parent.Object, "metadata", "finalizers")
	if !given && exists.controller.Webhook("finalize") != nil {
		parent.SetFinalizers([]string{finalizer})
	}
	if deleted && parent.GetDeletionTimestamp() == nil {
		at := parent.GetCreationTimestamp()
		parent.SetDeletionTimestamp(&at)
	}
	of, err := s.types.Of(parent.GroupVersionKind())
	if err != nil {
		return err
	}
	status, ok := parent.Object["status"].(map[string]any)
	if _, observed := status["observedGeneration"]; ok && !observed && of.IsCustom() {
		status["observedGeneration"] = parent.GetGeneration()
	}
	return nil
}

// completeChild completes a child as the controller has made it: it belongs to the parent, and what it has without its status is
// what the hook last wanted of it.
func (s *Suite) completeChild(exists *situation, child *unstructured.Unstructured) error {
	of, err := s.types.Of(child.GroupVersionKind())
	if err != nil {
		return err
	}
	if of.Namespaced && child.GetNamespace() == "" {
		child.SetNamespace(exists.parent.GetNamespace())
	}
	exists.controller.mark(exists.parent, child)
	wanted := child.DeepCopy()
	if err := s.types.Complete(child); err != nil {
		return err
	}
	if metav1.GetControllerOfNoCopy(child) == nil {
		controller := metav1.NewControllerRef(exists.parent, exists.parent.GroupVersionKind())
		child.SetOwnerReferences(append(child.GetOwnerReferences(), *controller))
	}
	if exists.controller.appliesServerSide(of.GroupResource(), s.ApplyStrategy) {
		return recordApplied(child, wanted)
	}
	return recordLastApplied(child, wanted)
}
