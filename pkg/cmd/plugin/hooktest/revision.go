// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/offline"
)

// revision returns the ControllerRevision of an earlier version of the parent.
func (s *Suite) revision(exists *situation, of Revision) (*unstructured.Unstructured, error) {
	parents, err := s.types.Of(exists.parent.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	paths := exists.controller.fieldPaths()
	current, err := patchOf(exists.parent, paths)
	if err != nil {
		return nil, err
	}
	then := exists.parent.DeepCopy()
	if err := (&Given{With: of.Parent}).change(then); err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	patch, err := patchOf(then, paths)
	if err != nil {
		return nil, err
	}
	parentType := object.Type{GroupVersionResource: parents.GroupVersionResource, Kind: parents.Kind, Namespaced: parents.Namespaced}
	stored := &v1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace:       cmp.Or(exists.parent.GetNamespace(), offline.Namespace),
		Name:            revisions.Name(parentType, exists.parent.GetUID(), patch),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(exists.parent, exists.parent.GroupVersionKind())},
	}}
	revisions.Record(stored, patch, paths)
	if bytes.Equal(patch, current) {
		metav1.SetMetaDataAnnotation(&stored.ObjectMeta, v1alpha1.CurrentRevisionAnnotation, "true")
	}
	if stored.Children, err = of.names(exists.children); err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{Object: content}
	made.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("ControllerRevision"))
	return made, s.types.Complete(made)
}

// patchOf returns what a revision records of a version of the parent.
func patchOf(version *unstructured.Unstructured, paths []string) ([]byte, error) {
	raw, err := version.MarshalJSON()
	if err != nil {
		return nil, err
	}
	parsed, err := object.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	return revisions.Patch(parsed, paths)
}

// rolling returns the names of the children that rolling updates move, by their kinds.
func (s *Suite) rolling(exists *situation) map[string][]string {
	composite, ok := exists.controller.Object.(*v1alpha1.CompositeController)
	if !ok {
		return nil
	}
	names := map[string][]string{}
	for _, rule := range composite.Spec.ChildResources {
		if !rule.UpdateStrategy.Rolls() {
			continue
		}
		for _, child := range exists.children {
			if of, err := s.types.Of(child.GroupVersionKind()); err == nil && of.GroupResource() == rule.GroupResource() {
				names[child.GetKind()] = append(names[child.GetKind()], relativeName(exists.parent, child))
			}
		}
	}
	return names
}

// relativeName returns the name of a child as revisions have it.
func relativeName(parent, child *unstructured.Unstructured) string {
	if parent.GetNamespace() != "" || child.GetNamespace() == "" {
		return child.GetName()
	}
	return child.GetNamespace() + "/" + child.GetName()
}

// names returns the children of a revision as it names them.
func (r *Revision) names(children []*unstructured.Unstructured) ([]v1alpha1.ControllerRevisionChildren, error) {
	var all []v1alpha1.ControllerRevisionChildren
	for _, kind := range slices.Sorted(maps.Keys(r.Children)) {
		at := slices.IndexFunc(children, func(child *unstructured.Unstructured) bool { return child.GetKind() == kind })
		if at < 0 {
			return nil, fmt.Errorf("children: no child is of the kind %s", kind)
		}
		all = append(all, v1alpha1.ControllerRevisionChildren{APIGroup: children[at].GroupVersionKind().Group, Kind: kind, Names: r.Children[kind]})
	}
	return all, nil
}
