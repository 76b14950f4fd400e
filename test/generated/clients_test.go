// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generated uses the generated clients as another module does.
package generated

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	apply "github.com/metacontroller/metacontroller-apiserver/pkg/generated/applyconfiguration/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/informers/externalversions"
)

func TestTheFakeClientsetCreatesAppliesAndInforms(t *testing.T) {
	clients := fake.NewClientset()
	controllers := clients.MetacontrollerV1alpha1().CompositeControllers()
	if _, err := controllers.Create(t.Context(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: "created"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	configuration := apply.CompositeController("applied").WithSpec(apply.CompositeControllerSpec().
		WithParentResource(apply.CompositeControllerParentResourceRule().WithAPIVersion("example.com/v1").WithResource("things")))
	applied, err := controllers.Apply(t.Context(), configuration, metav1.ApplyOptions{FieldManager: "me", Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if applied.Spec.ParentResource.Resource != "things" {
		t.Errorf("applied %+v", applied.Spec)
	}
	extracted, err := apply.ExtractCompositeController(applied, "me")
	if err != nil {
		t.Fatal(err)
	}
	if extracted.Spec == nil || *extracted.Spec.ParentResource.Resource != "things" {
		t.Errorf("extracted %+v", extracted.Spec)
	}
	factory := externalversions.NewSharedInformerFactory(clients, 0)
	informer := factory.Metacontroller().V1alpha1().CompositeControllers()
	informer.Informer()
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	for _, name := range []string{"created", "applied"} {
		if _, err := informer.Lister().Get(name); err != nil {
			t.Error(err)
		}
	}
}
