// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adoption finds the objects that a parent may adopt, because they have the names of its desired children, and
// says how. It changes nothing.
package adoption

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// Finder finds the objects that parents may adopt.
type Finder struct {
	Lookup *lookup.Lookup
	Client dynamic.Interface
	Mapper meta.RESTMapper
	// Wanted returns the desired children of a parent that a sync would create or apply.
	Wanted func(context.Context, *lookup.Controller, *lookup.Parent) ([]v1alpha1.ReviewedObject, error)
	// Unmarked is true if also objects without a sign that a controller created them are adopted.
	Unmarked bool
}

// Adoption has the objects that one parent of one controller may adopt.
type Adoption struct {
	Controller *lookup.Controller
	// Claimant has the parent.
	Claimant   object.Claimant
	Candidates []Candidate
	parentType *lookup.Parent
	// relatives maps the UIDs of the existing parents of the type to their names; nil until they are needed.
	relatives map[types.UID]string
}

// Candidate is an object that has the name of a desired child, but is not yet a child.
type Candidate struct {
	Resource schema.GroupVersionResource
	Holder   *object.Object
	// Change makes the object a child. It is nil if the object is skipped, for the reason.
	Change *object.Handover
	Reason string
}

// InWords describes the change.
func (c *Candidate) InWords() string {
	var gets, loses []string
	for _, name := range slices.Sorted(maps.Keys(c.Change.Labels)) {
		gets = append(gets, "label "+name+"="+c.Change.Labels[name])
	}
	switch {
	case c.Change.Annotates && c.Change.Decorator == "":
		loses = append(loses, "loses annotation "+object.DecoratorAnnotation)
	case c.Change.Annotates:
		gets = append(gets, "annotation "+object.DecoratorAnnotation+"="+c.Change.Decorator)
	}
	if c.Change.Owns {
		gets = append(gets, "the parent as its owner")
	}
	if len(gets) > 0 {
		gets = []string{"gets " + strings.Join(gets, ", ")}
	}
	return strings.Join(append(gets, loses...), ", ")
}

// Patch returns the merge patch that makes the object a child of the parent. The cluster rejects it if the object has changed since
// it was read.
func (c *Candidate) Patch(parent *object.Object) ([]byte, error) {
	holder, change := c.Holder, c.Change
	metadata := map[string]any{"uid": holder.UID, "resourceVersion": holder.ResourceVersion}
	if len(change.Labels) > 0 {
		metadata["labels"] = change.Labels
	}
	if change.Annotates {
		var value any
		if change.Decorator != "" {
			value = change.Decorator
		}
		metadata["annotations"] = map[string]any{object.DecoratorAnnotation: value}
	}
	if change.Owns {
		owner := *metav1.NewControllerRef(parent, parent.GroupVersionKind())
		metadata["ownerReferences"] = append(slices.Clone(holder.OwnerReferences), owner)
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}

// Find returns the objects that have the names of desired children, but are not children.
func (f *Finder) Find(
	ctx context.Context, controller *lookup.Controller, parent *lookup.Parent,
) (*Adoption, error) {
	stored, err := f.read(ctx, parent.Mapping.Resource, parent.Namespace, parent.Name)
	if err != nil {
		return nil, err
	}
	of := &Adoption{Controller: controller, parentType: parent}
	if of.Claimant, err = claimantOf(controller, stored); err != nil {
		return nil, err
	}
	wanted, err := f.Wanted(ctx, controller, parent)
	if err != nil {
		return nil, err
	}
	for _, child := range wanted {
		kind := schema.FromAPIVersionAndKind(child.APIVersion, child.Kind)
		mapping, err := f.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, err
		}
		holder, err := f.read(ctx, mapping.Resource, child.Namespace, child.Name)
		if apierrors.IsNotFound(err) {
			continue // the controller creates it
		}
		if err != nil {
			return nil, err
		}
		if of.Claimant.Has(holder) {
			continue
		}
		one := Candidate{Resource: mapping.Resource, Holder: holder, Change: of.Claimant.Handover(holder)}
		if one.Reason, err = f.reasonAgainst(ctx, of, &one); err != nil {
			return nil, err
		}
		if one.Reason != "" {
			one.Change = nil
		}
		of.Candidates = append(of.Candidates, one)
	}
	return of, nil
}

func (f *Finder) read(
	ctx context.Context, of schema.GroupVersionResource, namespace, name string,
) (*object.Object, error) {
	found, err := f.Client.Resource(of).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := found.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return object.Parse(raw)
}

// claimantOf returns how a controller finds the children of a parent.
func claimantOf(controller *lookup.Controller, parent *object.Object) (object.Claimant, error) {
	claimant := object.Claimant{Parent: parent, Selector: labels.Everything()}
	composite, ok := controller.Object.(*v1alpha1.CompositeController)
	switch {
	case !ok:
		claimant.Decorator = controller.GetName()
		return claimant, nil
	case ptr.Deref(composite.Spec.GenerateSelector, false):
		claimant.Selector = labels.SelectorFromSet(labels.Set{object.GeneratedLabel: string(parent.UID)})
		return claimant, nil
	}
	raw := parent.Lookup("spec", "selector")
	if raw == nil {
		return claimant, fmt.Errorf("%s has no spec.selector", parent)
	}
	selector := &metav1.LabelSelector{}
	err := json.Unmarshal(raw, selector)
	if err == nil {
		claimant.Selector, err = metav1.LabelSelectorAsSelector(selector)
	}
	if err != nil {
		return claimant, fmt.Errorf("spec.selector of %s: %w", parent, err)
	}
	return claimant, nil
}

// reasonAgainst returns why an object is not adopted; empty if it is.
func (f *Finder) reasonAgainst(ctx context.Context, of *Adoption, one *Candidate) (string, error) {
	holder, owner := one.Holder, metav1.GetControllerOfNoCopy(one.Holder)
	decorator, uid := holder.Annotations[object.DecoratorAnnotation], types.UID(holder.Labels[object.GeneratedLabel])
	switch {
	case holder.DeletionTimestamp != nil:
		return "it is being deleted", nil
	case owner != nil && owner.UID != of.Claimant.Parent.UID:
		return "another object controls it", nil
	case one.Change == nil && of.Claimant.Selector.Matches(labels.Set(holder.Labels)):
		return "its labels match, so the controller adopts it", nil
	case one.Change == nil:
		return "no change of its labels makes the selector of the parent match it", nil
	case !f.Unmarked && !object.IsMarked(holder):
		return "it has no sign that a controller created it; --unmarked also adopts it", nil
	}
	if decorator != "" && decorator != of.Claimant.Decorator {
		_, err := f.Lookup.Controller(ctx, lookup.Decorator+"/"+decorator)
		if !apierrors.IsNotFound(err) {
			return "DecoratorController " + decorator + " exists and may want it", err
		}
	}
	if owner != nil && decorator == "" {
		return f.otherComposite(ctx, of, one)
	}
	if owner == nil && uid != "" && uid != of.Claimant.Parent.UID {
		if err := of.readRelatives(ctx, f.Client); err != nil {
			return "", err
		}
		if name := of.relatives[uid]; name != "" {
			return "its label " + object.GeneratedLabel + " has the UID of " + name, nil
		}
	}
	return "", nil
}

// otherComposite returns a reason if another CompositeController may want an object that the parent controls.
func (f *Finder) otherComposite(ctx context.Context, of *Adoption, one *Candidate) (string, error) {
	controllers, err := f.Lookup.ControllersOf(ctx, of.parentType.Mapping.Resource.GroupResource())
	if err != nil {
		return "", err
	}
	for _, controller := range controllers {
		isOther := controller.Kind == lookup.Composite && controller.Reference() != of.Controller.Reference()
		has := func(rule v1alpha1.ResourceRule) bool { return rule.GroupResource() == one.Resource.GroupResource() }
		if isOther && slices.ContainsFunc(controller.ChildTypes(), has) {
			return controller.String() + " exists and may want it", nil
		}
	}
	return "", nil
}

// readRelatives lists the other parents of the type that could have the object.
func (of *Adoption) readRelatives(ctx context.Context, client dynamic.Interface) error {
	if of.relatives != nil {
		return nil
	}
	all := client.Resource(of.parentType.Mapping.Resource).Namespace(of.parentType.Namespace)
	relatives := map[types.UID]string{}
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return all.List(ctx, options)
	})
	err := pages.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		one := item.(*unstructured.Unstructured)
		relatives[one.GetUID()] = object.Key{
			GroupKind:      one.GroupVersionKind().GroupKind(),
			NamespacedName: types.NamespacedName{Namespace: one.GetNamespace(), Name: one.GetName()},
		}.String()
		return nil
	})
	if err != nil {
		return fmt.Errorf("find the other parents: %w", err)
	}
	of.relatives = relatives
	return nil
}

// Revisions returns the ControllerRevisions of the former parents, whose UIDs are in the labels of the objects. They say
// which children are at an earlier version of the parent.
func (of *Adoption) Revisions(
	ctx context.Context, client versioned.Interface,
) (revisions []v1alpha1.ControllerRevision, err error) {
	var former []string
	for _, one := range of.Candidates {
		uid := one.Holder.Labels[object.GeneratedLabel]
		if one.Change != nil && one.Change.Labels[object.GeneratedLabel] != "" && uid != "" {
			former = append(former, uid)
		}
	}
	if len(former) == 0 {
		return nil, nil
	}
	slices.Sort(former)
	selector := object.GeneratedLabel + " in (" + strings.Join(slices.Compact(former), ",") + ")"
	list, err := client.MetacontrollerV1alpha1().ControllerRevisions(of.Claimant.Parent.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("find the ControllerRevisions of the former parent: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(revision v1alpha1.ControllerRevision) bool {
		return metav1.GetControllerOfNoCopy(&revision) != nil
	}), nil
}

// PatchOf returns the merge patch that makes a ControllerRevision one of the parent.
func (of *Adoption) PatchOf(revision *v1alpha1.ControllerRevision) ([]byte, error) {
	return json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": revision.UID, "resourceVersion": revision.ResourceVersion,
		"labels": map[string]string{object.GeneratedLabel: string(of.Claimant.Parent.UID)},
	}})
}
