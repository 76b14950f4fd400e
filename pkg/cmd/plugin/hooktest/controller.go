// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// testedController is a controller that cases may be about.
type testedController struct {
	*lookup.Controller
	object *unstructured.Unstructured
}

// parentOf returns the parent of a case and its controller. Of the objects in a file, it is the one that a controller
// is for.
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
			if one.IsFor(known.GroupResource()) && (of.Controller == "" || of.Controller == one.Short() || of.Controller == one.GetName()) {
				parents, controllers = append(parents, object), append(controllers, one)
			}
		}
	}
	switch {
	case len(parents) == 1:
		return parents[0], controllers[0], nil
	case len(parents) == 0:
		return nil, nil, fmt.Errorf("no controller is for it: there are %s", strings.Join(s.controllerNames(), ", "))
	case parents[0] != parents[1]:
		return nil, nil, fmt.Errorf("several objects in %s are parents: set name", of.Parent.File)
	}
	return nil, nil, fmt.Errorf("several controllers are for it: set controller to one of %s", strings.Join(s.controllerNames(), ", "))
}

func (s *Suite) controllerNames() (names []string) {
	for _, one := range s.controllers {
		names = append(names, one.Short())
	}
	return names
}

// mark gives a child that by which the controller finds it: the label of a generated selector, or the annotation of
// attachments.
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

// set sets a label or an annotation, unless it is there.
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

// appliesServerSide reports whether children of a type are written by server-side apply, if that is so by default or
// if their rule says it.
func (c *testedController) appliesServerSide(of schema.GroupResource, byDefault controller.ApplyStrategy) bool {
	if composite, ok := c.Object.(*v1alpha1.CompositeController); ok {
		i := slices.IndexFunc(composite.Spec.ChildResources, func(rule v1alpha1.CompositeControllerChildResourceRule) bool { return rule.GroupResource() == of })
		if i >= 0 && composite.Spec.ChildResources[i].UpdateStrategy != nil && composite.Spec.ChildResources[i].UpdateStrategy.Apply != "" {
			return composite.Spec.ChildResources[i].UpdateStrategy.Apply == v1alpha1.ChildApplyServerSide
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
