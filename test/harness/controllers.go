// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Composite names a CompositeController.
func Composite(name string) Controller {
	return Controller{Resource: "compositecontrollers", Name: name}
}

// Decorator names a DecoratorController.
func Decorator(name string) Controller {
	return Controller{Resource: "decoratorcontrollers", Name: name}
}

func (c Controller) String() string { return c.Resource + "/" + c.Name }

func (c Controller) versioned() schema.GroupVersionResource {
	return v1alpha1.SchemeGroupVersion.WithResource(c.Resource)
}

// controllerState holds the fields that all kinds of controllers share.
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
		// The host may regard a server that has just restarted as down, and a busy server may
		// answer too late.
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

// DeleteController deletes a controller, which may stay until its finalizer is off its parents.
func (e *Env) DeleteController(t testing.TB, controller Controller) {
	t.Helper()
	err := e.Dynamic.Resource(controller.versioned()).Delete(t.Context(), controller.Name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatalf("delete %s: %v", controller, err)
	}
}

// WaitForController waits until check accepts the metadata and status of a controller.
func (e *Env) WaitForController(t testing.TB, controller Controller, check func(metav1.ObjectMeta, v1alpha1.ControllerStatus) error) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error {
		state, err := e.controllerState(ctx, controller)
		if err != nil {
			return err
		}
		return check(state.ObjectMeta, state.Status)
	})
}

func (e *Env) controllerState(ctx context.Context, controller Controller) (state controllerState, err error) {
	found, err := e.Dynamic.Resource(controller.versioned()).Get(ctx, controller.Name, metav1.GetOptions{})
	if err != nil {
		return state, err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &state)
	return state, err
}

// WaitForReady waits until the condition Ready of a controller's present spec has a status and a
// reason.
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

// WaitForCondition waits until a condition of a controller has a status.
func (e *Env) WaitForCondition(t testing.TB, controller Controller, kind string, status metav1.ConditionStatus) {
	t.Helper()
	e.WaitForController(t, controller, func(_ metav1.ObjectMeta, have v1alpha1.ControllerStatus) error {
		if condition := meta.FindStatusCondition(have.Conditions, kind); condition != nil && condition.Status == status {
			return nil
		}
		return fmt.Errorf("%s should be %s, but the conditions are %v", kind, status, have.Conditions)
	})
}

// WaitForWriteLoop waits until the condition Warnings of a controller reports a write loop with all of
// the words.
func (e *Env) WaitForWriteLoop(t testing.TB, controller Controller, words ...string) {
	t.Helper()
	e.Eventually(t, func(ctx context.Context) error { return e.HasWriteLoop(ctx, controller, words...) })
}

// HasWriteLoop checks that the condition Warnings of a controller reports a write loop with all of the
// words.
func (e *Env) HasWriteLoop(ctx context.Context, controller Controller, words ...string) error {
	state, err := e.controllerState(ctx, controller)
	if err != nil {
		return err
	}
	condition := meta.FindStatusCondition(state.Status.Conditions, v1alpha1.ConditionWarnings)
	if condition == nil || condition.Reason != v1alpha1.ReasonWriteLoop {
		return fmt.Errorf("condition Warnings should be True because of a WriteLoop, but the conditions are %v", state.Status.Conditions)
	}
	for _, word := range words {
		if !strings.Contains(condition.Message, word) {
			return fmt.Errorf("the condition should name %q, but says %q", word, condition.Message)
		}
	}
	return nil
}

// WaitForDrainFinalizer waits until a controller has the finalizer that keeps it until its parents
// are released, or has not, and its status lists these types of parents in heldResources.
func (e *Env) WaitForDrainFinalizer(t testing.TB, controller Controller, want bool, parents ...schema.GroupVersionResource) {
	t.Helper()
	var rules []v1alpha1.ResourceRule
	for _, resource := range parents {
		rules = append(rules, v1alpha1.ResourceRule{APIVersion: resource.GroupVersion().String(), Resource: resource.Resource})
	}
	e.WaitForController(t, controller, func(metadata metav1.ObjectMeta, have v1alpha1.ControllerStatus) error {
		if got := slices.Contains(metadata.Finalizers, v1alpha1.DrainFinalizer); got != want {
			return fmt.Errorf("%s has the drain finalizer: %v, want %v", controller, got, want)
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
