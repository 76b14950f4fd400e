// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// CompositeChange changes the spec of a CompositeController before it is created.
type CompositeChange = func(*v1alpha1.CompositeControllerSpec)

// CompositeSpec returns the spec of a controller with ConfigMap children that are updated in place,
// a generated selector and a sync hook, with changes.
func (f *Fixture) CompositeSpec(changes ...CompositeChange) v1alpha1.CompositeControllerSpec {
	spec := v1alpha1.CompositeControllerSpec{
		ParentResource: v1alpha1.CompositeControllerParentResourceRule{ResourceRule: v1alpha1.ResourceRule{
			APIVersion: f.Parents.GroupVersion().String(), Resource: f.Parents.Resource,
		}},
		ChildResources:   []v1alpha1.CompositeControllerChildResourceRule{ChildRule("v1", "configmaps", v1alpha1.ChildUpdateInPlace)},
		GenerateSelector: ptr.To(true),
		Hooks:            &v1alpha1.CompositeControllerHooks{Sync: f.hookAt(SyncPath)},
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// ChildRule declares a type of children.
func ChildRule(apiVersion, resource string, method v1alpha1.ChildUpdateMethod) v1alpha1.CompositeControllerChildResourceRule {
	return v1alpha1.CompositeControllerChildResourceRule{
		ResourceRule:   v1alpha1.ResourceRule{APIVersion: apiVersion, Resource: resource},
		UpdateStrategy: &v1alpha1.CompositeControllerChildUpdateStrategy{Method: &method},
	}
}

// CreateComposite creates a CompositeController and deletes it when the test ends.
func (f *Fixture) CreateComposite(name string, spec v1alpha1.CompositeControllerSpec) *v1alpha1.CompositeController {
	f.Helper()
	return CreateController(f, f.Env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec,
	})
}

// RunComposite creates the fixture's controller.
func (f *Fixture) RunComposite(spec v1alpha1.CompositeControllerSpec) {
	f.Helper()
	f.Controller = Composite(f.CreateComposite(Name("test"), spec).Name)
}
