// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// DecoratorChange changes the spec of a DecoratorController before it is created.
type DecoratorChange = func(*v1alpha1.DecoratorControllerSpec)

// DecoratorSpec returns the spec of a controller of all objects of the fixture's type, with
// ConfigMap attachments that are updated in place and a sync hook, with changes.
func (f *Fixture) DecoratorSpec(changes ...DecoratorChange) v1alpha1.DecoratorControllerSpec {
	spec := v1alpha1.DecoratorControllerSpec{
		Resources: []v1alpha1.DecoratorControllerResourceRule{{ResourceRule: v1alpha1.ResourceRule{
			APIVersion: f.Parents.GroupVersion().String(), Resource: f.Parents.Resource,
		}}},
		Attachments: []v1alpha1.DecoratorControllerAttachmentRule{AttachmentRule("v1", "configmaps", v1alpha1.ChildUpdateInPlace)},
		Hooks:       &v1alpha1.DecoratorControllerHooks{Sync: f.hookAt(SyncPath)},
	}
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// AttachmentRule declares a type of attachments.
func AttachmentRule(apiVersion, resource string, method v1alpha1.ChildUpdateMethod) v1alpha1.DecoratorControllerAttachmentRule {
	return v1alpha1.DecoratorControllerAttachmentRule{
		ResourceRule:   v1alpha1.ResourceRule{APIVersion: apiVersion, Resource: resource},
		UpdateStrategy: &v1alpha1.DecoratorControllerAttachmentUpdateStrategy{Method: &method},
	}
}

// CreateDecorator creates a DecoratorController and deletes it when the test ends.
func (f *Fixture) CreateDecorator(name string, spec v1alpha1.DecoratorControllerSpec) *v1alpha1.DecoratorController {
	f.Helper()
	return CreateController(f, f.Env.Metacontroller.MetacontrollerV1alpha1().DecoratorControllers(), &v1alpha1.DecoratorController{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec,
	})
}

// RunDecorator creates the fixture's controller.
func (f *Fixture) RunDecorator(spec v1alpha1.DecoratorControllerSpec) {
	f.Helper()
	f.Controller = Decorator(f.CreateDecorator(Name("test"), spec).Name)
}
