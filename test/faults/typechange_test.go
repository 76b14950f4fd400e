// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// The type of the children goes, comes back as another one, goes again and comes back as it was. While
// it cannot have children, the controller says so; then it makes them again.
func TestATypeThatComesBackAsAnotherOne(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*harness.CRD){
		"with another scope":   func(crd *harness.CRD) { crd.ClusterScoped = true },
		"with another version": func(crd *harness.CRD) { crd.Version = "v2" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playTypeChange(t, change)
		})
	}
}

func playTypeChange(t *testing.T, change func(*harness.CRD)) {
	group := harness.Name("test") + ".example.com"
	widgets := harness.CRD{Kind: "Widget", Group: group}
	resource := env.Install(t, widgets)
	s := &scenario{
		name: "type",
		create: func(r *run) {
			r.createComposite(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{
					harness.ChildRule(group+"/v1", "widgets", v1alpha1.ChildUpdateInPlace),
				}
			})
		},
		answer: func(a asked) object {
			return object{"children": []object{{
				"apiVersion": group + "/v1", "kind": "Widget", "metadata": object{"name": "w"}, "spec": object{"value": a.text("value")},
			}}}
		},
	}
	r := newRun(t, s, controller.DynamicApply, pattern{})
	r.CreateParentWith("p", r.label(), object{"value": "1"})
	r.awaitWidget(resource, "1")

	r.removeType(resource)
	another := widgets
	change(&another)
	env.Install(t, another)
	r.PatchParent("p", object{"spec": object{"value": "2"}})
	r.awaitTrouble()

	r.removeType(resource)
	env.Install(t, widgets)
	r.awaitWidget(resource, "2")
	r.PatchParent("p", object{"spec": object{"value": "3"}})
	r.awaitWidget(resource, "3")
	r.awaitReady()
}

func (r *run) awaitWidget(of schema.GroupVersionResource, value string) {
	r.Helper()
	env.Within(r, visibleWithin, func(ctx context.Context) error {
		found, err := env.Dynamic.Resource(of).Namespace(r.Namespace).Get(ctx, "w", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(found.Object, "spec", "value"); got != value {
			return errors.New("the widget has the value " + got + ", want " + value)
		}
		return nil
	})
}

// removeType deletes the definition of a type and waits until its objects are gone too.
func (r *run) removeType(of schema.GroupVersionResource) {
	r.Helper()
	name := of.GroupResource().String()
	if err := env.Dynamic.Resource(definitions).Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	env.Within(r, visibleWithin, func(ctx context.Context) error {
		_, err := env.Dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the type should be gone"), err)
	})
}

// awaitReady waits until the controller is ready.
func (r *run) awaitReady() {
	r.Helper()
	env.WaitForReady(r, r.Controller, metav1.ConditionTrue, "Running")
}
