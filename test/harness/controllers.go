// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// Controller is the object of a controller: a CompositeController or a DecoratorController.
type Controller struct {
	Resource string // plural, such as "decoratorcontrollers"
	Name     string
}

func (c Controller) String() string { return c.Resource + "/" + c.Name }

func (c Controller) versioned() schema.GroupVersionResource {
	return v1alpha1.SchemeGroupVersion.WithResource(c.Resource)
}

// controllerState is what is the same of all kinds of controllers.
type controllerState struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            v1alpha1.ControllerStatus `json:"status"`
}

// CreateController creates a controller and deletes it, if it is still there, when the test ends.
func CreateController[T metav1.Object](t testing.TB, client interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}, object T,
) T {
	t.Helper()
	created, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
	t.Cleanup(func() {
		// A server that has just come back is down for the host for some moments more, and a busy one may not answer in time.
		err := poll.Within(context.WithoutCancel(t.Context()), deadline, func(ctx context.Context) error {
			err := client.Delete(ctx, created.GetName(), metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Errorf("delete %T %s: %v", created, created.GetName(), err)
		}
	})
	return created
}

// PatchController applies a JSON merge patch to a controller.
func (e *Env) PatchController(t testing.TB, controller Controller, patch map[string]any) {
	t.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Dynamic.Resource(controller.versioned()).Patch(t.Context(), controller.Name, types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("patch %s: %v", controller, err)
	}
}

// DeleteController deletes a controller, which may stay until it has let go of its parents.
func (e *Env) DeleteController(t testing.TB, controller Controller) {
	t.Helper()
	err := e.Dynamic.Resource(controller.versioned()).Delete(t.Context(), controller.Name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatalf("delete %s: %v", controller, err)
	}
}

// WaitForController waits until a controller is there and its metadata and status are as they should be.
func (e *Env) WaitForController(t testing.TB, controller Controller, check func(metav1.ObjectMeta, v1alpha1.ControllerStatus) error) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error {
		found, err := e.Dynamic.Resource(controller.versioned()).Get(ctx, controller.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		state, err := stateOf(found)
		if err != nil {
			return err
		}
		return check(state.ObjectMeta, state.Status)
	})
}

func stateOf(controller *unstructured.Unstructured) (state controllerState, err error) {
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(controller.Object, &state)
	return state, err
}

// WaitForReady waits until the condition Ready of a controller's present spec has a status and a reason.
func (e *Env) WaitForReady(t testing.TB, controller Controller, status metav1.ConditionStatus, reason string) {
	t.Helper()
	e.WaitForController(t, controller, func(metadata metav1.ObjectMeta, have v1alpha1.ControllerStatus) error {
		for _, condition := range have.Conditions {
			if condition.Type == v1alpha1.ConditionReady && condition.Status == status && condition.Reason == reason &&
				have.ObservedGeneration == metadata.Generation {
				return nil
			}
		}
		return fmt.Errorf("the condition Ready should be %s because of %s, but the conditions are %v", status, reason, have.Conditions)
	})
}

// WaitForDrainFinalizer waits until a controller has the finalizer that keeps it for its parents, or has not, and its
// status tells that parents of these types may be held.
func (e *Env) WaitForDrainFinalizer(t testing.TB, controller Controller, want bool, held ...schema.GroupVersionResource) {
	t.Helper()
	var rules []v1alpha1.ResourceRule
	for _, resource := range held {
		rules = append(rules, v1alpha1.ResourceRule{APIVersion: resource.GroupVersion().String(), Resource: resource.Resource})
	}
	e.WaitForController(t, controller, func(metadata metav1.ObjectMeta, have v1alpha1.ControllerStatus) error {
		if got := slices.Contains(metadata.Finalizers, v1alpha1.DrainFinalizer); got != want {
			return fmt.Errorf("%s is held: %v, want %v", controller, got, want)
		}
		if diff := cmp.Diff(rules, have.HeldResources); diff != "" {
			return fmt.Errorf("status.heldResources (-want +got):\n%s", diff)
		}
		return nil
	})
}

// WaitUntilControllerIsGone waits until there is no such controller.
func (e *Env) WaitUntilControllerIsGone(t testing.TB, controller Controller) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error {
		found, err := e.Dynamic.Resource(controller.versioned()).Get(ctx, controller.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("%s should be gone, but has the finalizers %v and the status %v", controller, found.GetFinalizers(), found.Object["status"])
	})
}
