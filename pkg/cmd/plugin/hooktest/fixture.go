// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
	"github.com/metacontroller/metacontroller-apiserver/pkg/offline"
)

// fixture is the objects that exist when a case begins.
type fixture struct {
	suite      *Suite
	controller *testedController
	parent     *unstructured.Unstructured
	children   []*unstructured.Unstructured
	objects    []*unstructured.Unstructured
}

// fixtureOf returns the objects of a case, completed as a cluster and earlier syncs would have it.
func (s *Suite) fixtureOf(of *Case) (*fixture, error) {
	f := &fixture{suite: s}
	var err error
	if f.parent, f.controller, err = s.parentOf(of); err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	if err := f.completeParent(of.Deleted); err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	for i, given := range of.Children {
		children, err := given.objects(of)
		for _, child := range children {
			if err == nil {
				err = f.completeChild(child)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("children[%d]: %w", i, err)
		}
		f.children = append(f.children, children...)
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
		f.objects = append(f.objects, slices.DeleteFunc(others,
			func(other *unstructured.Unstructured) bool { return other.GetUID() == f.parent.GetUID() })...)
	}
	revisions := of.Revisions
	if rolling := f.rolling(); len(revisions) == 0 && len(rolling) > 0 {
		revisions = []Revision{{Children: rolling}}
	}
	for i, revision := range revisions {
		stored, err := f.revision(revision)
		if err != nil {
			return nil, fmt.Errorf("revisions[%d]: %w", i, err)
		}
		f.objects = append(f.objects, stored)
	}
	f.objects = slices.Concat(f.objects, f.children, []*unstructured.Unstructured{f.parent, f.controller.object})
	return f, nil
}

// completeParent completes the parent. It gets the finalizer of a controller with a finalize hook unless the case has
// finalizers, and its status gets the current observedGeneration.
func (f *fixture) completeParent(deleted bool) error {
	parent := f.parent
	if err := f.suite.types.Complete(parent); err != nil {
		return err
	}
	finalizer := v1alpha1.CompositeFinalizerPrefix + f.controller.GetName()
	if f.controller.Kind == lookup.Decorator {
		finalizer = v1alpha1.DecoratorFinalizerPrefix + f.controller.GetName()
	}
	_, given, _ := unstructured.NestedFieldNoCopy(parent.Object, "metadata", "finalizers")
	if !given && f.controller.Hook("finalize").IsCalled() {
		parent.SetFinalizers([]string{finalizer})
	}
	if deleted && parent.GetDeletionTimestamp() == nil {
		at := parent.GetCreationTimestamp()
		parent.SetDeletionTimestamp(&at)
	}
	of, err := f.suite.types.Of(parent.GroupVersionKind())
	if err != nil {
		return err
	}
	status, ok := parent.Object["status"].(map[string]any)
	if _, observed := status["observedGeneration"]; ok && !observed && of.IsCustom() {
		status["observedGeneration"] = parent.GetGeneration()
	}
	return nil
}

// completeChild completes a child as the controller has created it: with the parent as its owner, and with its fields
// without the status as the last applied ones.
func (f *fixture) completeChild(child *unstructured.Unstructured) error {
	of, err := f.suite.types.Of(child.GroupVersionKind())
	if err != nil {
		return err
	}
	if of.Namespaced && child.GetNamespace() == "" {
		child.SetNamespace(f.parent.GetNamespace())
	}
	f.controller.mark(f.parent, child)
	wanted := child.DeepCopy()
	if err := f.suite.types.Complete(child); err != nil {
		return err
	}
	if metav1.GetControllerOfNoCopy(child) == nil {
		controller := metav1.NewControllerRef(f.parent, f.parent.GroupVersionKind())
		child.SetOwnerReferences(append(child.GetOwnerReferences(), *controller))
	}
	if f.controller.appliesServerSide(of.GroupResource(), f.suite.ApplyStrategy) {
		return recordApplied(child, wanted)
	}
	return recordLastApplied(child, wanted)
}

// testedController is a controller of a suite.
type testedController struct {
	*lookup.Controller
	object *unstructured.Unstructured
}

// parentOf returns the parent of a case and its controller. Of several objects in a file, the parent is the one with a
// controller.
func (s *Suite) parentOf(of *Case) (*unstructured.Unstructured, *testedController, error) {
	objects, err := of.Parent.objects(of)
	if err != nil {
		return nil, nil, err
	}
	var parents []*unstructured.Unstructured
	var controllers []*testedController
	for _, object := range objects {
		known, err := s.types.Of(object.GroupVersionKind())
		if err != nil {
			return nil, nil, err
		}
		for _, one := range s.controllers {
			if one.IsFor(known.GroupResource()) && (of.Controller == "" || of.Controller == one.Short() ||
				of.Controller == one.GetName()) {
				parents, controllers = append(parents, object), append(controllers, one)
			}
		}
	}
	switch {
	case len(parents) == 1:
		return parents[0], controllers[0], nil
	case len(parents) == 0:
		return nil, nil, fmt.Errorf(
			"no controller handles it; the folder has %s", strings.Join(s.controllerNames(), ", "))
	case parents[0] != parents[1]:
		return nil, nil, fmt.Errorf("several objects in %s are parents: set name", of.Parent.File)
	}
	return nil, nil, fmt.Errorf("several controllers handle it: set controller to one of %s",
		strings.Join(s.controllerNames(), ", "))
}

func (s *Suite) controllerNames() (names []string) {
	for _, one := range s.controllers {
		names = append(names, one.Short())
	}
	return names
}

// mark sets the label of a generated selector or the annotation of attachments, by which the controller finds a child.
func (c *testedController) mark(parent, child *unstructured.Unstructured) {
	switch of := c.Object.(type) {
	case *v1alpha1.CompositeController:
		if ptr.Deref(of.Spec.GenerateSelector, false) {
			set(object.GeneratedLabel, string(parent.GetUID()), child.GetLabels, child.SetLabels)
		}
	case *v1alpha1.DecoratorController:
		set(object.DecoratorAnnotation, of.Name, child.GetAnnotations, child.SetAnnotations)
	}
}

// set sets a label or an annotation unless it exists.
func set(name, value string, get func() map[string]string, put func(map[string]string)) {
	all := get()
	if all == nil {
		all = map[string]string{}
	}
	if _, there := all[name]; !there {
		all[name] = value
		put(all)
	}
}

// appliesServerSide reports whether children of a type are written by server-side apply, by their rule or by default.
func (c *testedController) appliesServerSide(of schema.GroupResource, byDefault controller.ApplyStrategy) bool {
	if composite, ok := c.Object.(*v1alpha1.CompositeController); ok {
		i := slices.IndexFunc(composite.Spec.ChildResources,
			func(rule v1alpha1.CompositeControllerChildResourceRule) bool { return rule.GroupResource() == of })
		if i >= 0 {
			if chosen := composite.Spec.ChildResources[i].UpdateStrategy.GetApply(); chosen != "" {
				return chosen == v1alpha1.ChildApplyServerSide
			}
		}
	}
	return byDefault == controller.ServerSideApply
}

// fieldPaths returns the fields of parents that revisions record.
func (c *testedController) fieldPaths() []string {
	if composite, ok := c.Object.(*v1alpha1.CompositeController); ok {
		if history := composite.Spec.ParentResource.RevisionHistory; history != nil && len(history.FieldPaths) > 0 {
			return history.FieldPaths
		}
	}
	return []string{"spec"}
}

// recordLastApplied sets the last-applied annotation of dynamic apply on a child that lacks it.
func recordLastApplied(child, wanted *unstructured.Unstructured) error {
	annotations := child.GetAnnotations()
	if _, recorded := annotations[object.LastAppliedAnnotation]; recorded {
		return nil
	}
	raw, err := object.Canonical(withoutStatus(wanted).Object)
	if err != nil {
		return err
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[object.LastAppliedAnnotation] = string(raw)
	child.SetAnnotations(annotations)
	return nil
}

// recordApplied sets the managed fields of server-side apply on a child, unless it has some.
func recordApplied(child, wanted *unstructured.Unstructured) error {
	if len(child.GetManagedFields()) > 0 {
		return nil
	}
	applied := withoutStatus(wanted)
	applied.SetOwnerReferences(child.GetOwnerReferences())
	value, err := typed.DeducedParseableType.FromUnstructured(applied.Object)
	if err != nil {
		return err
	}
	fields, err := value.ToFieldSet()
	if err != nil {
		return err
	}
	identity := fieldpath.NewSet(
		fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata", "name"),
		fieldpath.MakePathOrDie("metadata", "namespace"),
	)
	raw, err := fields.Difference(identity).ToJSON()
	if err != nil {
		return err
	}
	child.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: object.FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: child.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(strings.TrimSpace(string(raw))),
	}})
	return nil
}

// withoutStatus returns a copy of a child with the fields that hooks can set.
func withoutStatus(child *unstructured.Unstructured) *unstructured.Unstructured {
	kept := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(child.Object)}
	delete(kept.Object, "status")
	metadata, _ := kept.Object["metadata"].(map[string]any)
	for name := range metadata {
		switch name {
		case "name", "namespace", "labels", "annotations":
		default:
			delete(metadata, name)
		}
	}
	return kept
}

// revision returns the ControllerRevision of an earlier version of the parent.
func (f *fixture) revision(of Revision) (*unstructured.Unstructured, error) {
	parents, err := f.suite.types.Of(f.parent.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	paths := f.controller.fieldPaths()
	current, err := patchOf(f.parent, paths)
	if err != nil {
		return nil, err
	}
	then := f.parent.DeepCopy()
	if err := (&Given{With: of.Parent}).change(then); err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	patch, err := patchOf(then, paths)
	if err != nil {
		return nil, err
	}
	parentType := object.Type{GroupVersionResource: parents.GroupVersionResource, Kind: parents.Kind,
		Namespaced: parents.Namespaced}
	stored := &v1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace:       cmp.Or(f.parent.GetNamespace(), offline.Namespace),
		Name:            revisions.Name(parentType, f.parent.GetUID(), patch),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.parent, f.parent.GroupVersionKind())},
	}}
	revisions.Record(stored, patch, paths)
	if bytes.Equal(patch, current) {
		metav1.SetMetaDataAnnotation(&stored.ObjectMeta, v1alpha1.CurrentRevisionAnnotation, "true")
	}
	if stored.Children, err = of.names(f.children); err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{Object: content}
	made.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("ControllerRevision"))
	return made, f.suite.types.Complete(made)
}

// patchOf returns the fields of a version of the parent that a revision records.
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

// rolling returns the names of children with rolling updates, by kind.
func (f *fixture) rolling() map[string][]string {
	composite, ok := f.controller.Object.(*v1alpha1.CompositeController)
	if !ok {
		return nil
	}
	names := map[string][]string{}
	for _, rule := range composite.Spec.ChildResources {
		if !rule.UpdateStrategy.Rolls() {
			continue
		}
		for _, child := range f.children {
			if of, err := f.suite.types.Of(child.GroupVersionKind()); err == nil && of.GroupResource() == rule.GroupResource() {
				names[child.GetKind()] = append(names[child.GetKind()], relativeName(f.parent, child))
			}
		}
	}
	return names
}

// relativeName returns the name of a child in revisions.
func relativeName(parent, child *unstructured.Unstructured) string {
	if parent.GetNamespace() != "" || child.GetNamespace() == "" {
		return child.GetName()
	}
	return child.GetNamespace() + "/" + child.GetName()
}

// names returns the children in the form of a ControllerRevision.
func (r *Revision) names(children []*unstructured.Unstructured) ([]v1alpha1.ControllerRevisionChildren, error) {
	var all []v1alpha1.ControllerRevisionChildren
	for _, kind := range slices.Sorted(maps.Keys(r.Children)) {
		at := slices.IndexFunc(children, func(child *unstructured.Unstructured) bool { return child.GetKind() == kind })
		if at < 0 {
			return nil, fmt.Errorf("children: no child is of the kind %s", kind)
		}
		all = append(all, v1alpha1.ControllerRevisionChildren{APIGroup: children[at].GroupVersionKind().Group, Kind: kind,
			Names: r.Children[kind]})
	}
	return all, nil
}
