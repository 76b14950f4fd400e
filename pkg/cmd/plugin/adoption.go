// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// adoption has the objects that one parent of one controller may adopt.
type adoption struct {
	controller *lookup.Controller
	parentType *lookup.Parent
	claimant   object.Claimant
	candidates []candidate
	// relatives maps the UIDs of the existing parents of the type to their names; nil until they are needed.
	relatives map[types.UID]string
}

// candidate is an object that has the name of a desired child, but is not yet a child.
type candidate struct {
	resource schema.GroupVersionResource
	holder   *object.Object
	// change makes the object a child. It is nil if the object is skipped, for the reason.
	change *object.Handover
	reason string
}

// inWords describes the change.
func (c *candidate) inWords() string {
	var gets, loses []string
	for _, name := range slices.Sorted(maps.Keys(c.change.Labels)) {
		gets = append(gets, "label "+name+"="+c.change.Labels[name])
	}
	switch {
	case c.change.Annotates && c.change.Decorator == "":
		loses = append(loses, "loses annotation "+object.DecoratorAnnotation)
	case c.change.Annotates:
		gets = append(gets, "annotation "+object.DecoratorAnnotation+"="+c.change.Decorator)
	}
	if c.change.Owns {
		gets = append(gets, "the parent as its owner")
	}
	if len(gets) > 0 {
		gets = []string{"gets " + strings.Join(gets, ", ")}
	}
	return strings.Join(append(gets, loses...), ", ")
}

// find returns the objects that have the names of desired children, but are not children.
func (a *adopt) find(
	ctx context.Context, find *lookup.Lookup, controller *lookup.Controller, parent *lookup.Parent,
) (*adoption, error) {
	client, err := a.DynamicClient()
	if err != nil {
		return nil, err
	}
	stored, err := readObject(ctx, client, parent.Mapping.Resource, parent.Namespace, parent.Name)
	if err != nil {
		return nil, err
	}
	of := &adoption{controller: controller, parentType: parent}
	if of.claimant, err = claimantOf(controller, stored); err != nil {
		return nil, err
	}
	wanted, err := a.wanted(ctx, controller, parent)
	if err != nil {
		return nil, err
	}
	mapper, err := a.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	for _, child := range wanted {
		kind := schema.FromAPIVersionAndKind(child.APIVersion, child.Kind)
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, err
		}
		holder, err := readObject(ctx, client, mapping.Resource, child.Namespace, child.Name)
		if apierrors.IsNotFound(err) {
			continue // the controller creates it
		}
		if err != nil {
			return nil, err
		}
		if of.claimant.Has(holder) {
			continue
		}
		one := candidate{resource: mapping.Resource, holder: holder, change: of.claimant.Handover(holder)}
		if one.reason, err = a.reasonAgainst(ctx, find, client, of, &one); err != nil {
			return nil, err
		}
		if one.reason != "" {
			one.change = nil
		}
		of.candidates = append(of.candidates, one)
	}
	return of, nil
}

func readObject(
	ctx context.Context, client dynamic.Interface, of schema.GroupVersionResource, namespace, name string,
) (*object.Object, error) {
	found, err := client.Resource(of).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
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

// wanted returns the desired children that a sync would create or apply.
func (a *adopt) wanted(
	ctx context.Context, controller *lookup.Controller, parent *lookup.Parent,
) (wanted []v1alpha1.ReviewedObject, err error) {
	reviewer, err := a.reviewer(controller)
	if err != nil {
		return nil, err
	}
	spec := reviewOf(controller)
	spec.Parent, spec.Details = parent.InReview(), v1alpha1.SyncReviewDetailsSteps
	err = reviews.Each(ctx, reviewer, spec, nil, func(review *v1alpha1.SyncReview) error {
		for _, sync := range review.Status.Syncs {
			for _, step := range sync.Steps {
				switch step.Operation {
				case v1alpha1.ReviewedCreate, v1alpha1.ReviewedApply:
					if step.Kind != "ControllerRevision" {
						wanted = append(wanted, step.ReviewedObject)
					}
				}
			}
			if sync.Error != "" && len(sync.Steps) == 0 {
				return errors.New(sync.Error)
			}
		}
		return nil
	})
	return wanted, err
}

// reasonAgainst returns why adopt skips an object; empty if it does not.
func (a *adopt) reasonAgainst(
	ctx context.Context, find *lookup.Lookup, client dynamic.Interface, of *adoption, one *candidate,
) (string, error) {
	holder, owner := one.holder, metav1.GetControllerOfNoCopy(one.holder)
	decorator, uid := holder.Annotations[object.DecoratorAnnotation], types.UID(holder.Labels[object.GeneratedLabel])
	switch {
	case holder.DeletionTimestamp != nil:
		return "it is being deleted", nil
	case owner != nil && owner.UID != of.claimant.Parent.UID:
		return "another object controls it", nil
	case one.change == nil && of.claimant.Selector.Matches(labels.Set(holder.Labels)):
		return "its labels match, so that the controller adopts it", nil
	case one.change == nil:
		return "no label can be set so that the selector of the parent matches it", nil
	case !a.unmarked && !object.IsMarked(holder):
		return "it has no sign that a controller created it; --unmarked adopts it, too", nil
	}
	if decorator != "" && decorator != of.claimant.Decorator {
		_, err := find.Controller(ctx, lookup.Decorator+"/"+decorator)
		if !apierrors.IsNotFound(err) {
			return "DecoratorController " + decorator + " exists and may want it", err
		}
	}
	if owner != nil && decorator == "" {
		return a.otherComposite(ctx, find, of, one)
	}
	if owner == nil && uid != "" && uid != of.claimant.Parent.UID {
		if err := of.readRelatives(ctx, client); err != nil {
			return "", err
		}
		if name := of.relatives[uid]; name != "" {
			return "its label " + object.GeneratedLabel + " is that of " + name, nil
		}
	}
	return "", nil
}

// otherComposite returns a reason if another CompositeController may want an object that the parent controls.
func (a *adopt) otherComposite(
	ctx context.Context, find *lookup.Lookup, of *adoption, one *candidate,
) (string, error) {
	controllers, err := find.ControllersOf(ctx, of.parentType.Mapping.Resource.GroupResource())
	if err != nil {
		return "", err
	}
	for _, controller := range controllers {
		isOther := controller.Kind == lookup.Composite && controller.Reference() != of.controller.Reference()
		has := func(rule v1alpha1.ResourceRule) bool { return rule.GroupResource() == one.resource.GroupResource() }
		if isOther && slices.ContainsFunc(controller.ChildTypes(), has) {
			return controller.String() + " exists and may want it", nil
		}
	}
	return "", nil
}

// readRelatives lists the other parents of the type that could have the object.
func (of *adoption) readRelatives(ctx context.Context, client dynamic.Interface) error {
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
		relatives[one.GetUID()] = objectName(one, "")
		return nil
	})
	if err != nil {
		return fmt.Errorf("find the other parents: %w", err)
	}
	of.relatives = relatives
	return nil
}

// adoptRevisions relabels the ControllerRevisions of former parents, whose UIDs are in the labels of the objects. They
// say which children are at an earlier version of the parent.
func (a *adopt) adoptRevisions(ctx context.Context, of *adoption, done string) error {
	var former []string
	for _, one := range of.candidates {
		uid := one.holder.Labels[object.GeneratedLabel]
		if one.change != nil && one.change.Labels[object.GeneratedLabel] != "" && uid != "" {
			former = append(former, uid)
		}
	}
	if len(former) == 0 {
		return nil
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	slices.Sort(former)
	selector := object.GeneratedLabel + " in (" + strings.Join(slices.Compact(former), ",") + ")"
	list, err := client.MetacontrollerV1alpha1().ControllerRevisions(of.claimant.Parent.Namespace).
		List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("find the ControllerRevisions of the former parent: %w", err)
	}
	for i := range list.Items {
		revision := &list.Items[i]
		if metav1.GetControllerOfNoCopy(revision) != nil {
			continue
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": revision.UID, "resourceVersion": revision.ResourceVersion,
			"labels": map[string]string{object.GeneratedLabel: string(of.claimant.Parent.UID)},
		}})
		if err != nil {
			return err
		}
		resource := v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")
		if err := a.change(ctx, resource, revision.Namespace, revision.Name, body, done); err != nil {
			return fmt.Errorf("ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
		}
	}
	return nil
}
