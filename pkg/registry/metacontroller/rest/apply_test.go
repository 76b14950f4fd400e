// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	typed "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
)

func TestServerSideApplyCreatesAndChanges(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind kind) {
		applied, err := kind.client.Apply(t.Context(), "a", kind.named(t, "a"), metav1.ApplyOptions{FieldManager: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if applied.GetGeneration() != 1 {
			t.Errorf("generation = %d, want 1", applied.GetGeneration())
		}
		again, err := kind.client.Apply(t.Context(), "a", kind.named(t, "a"), metav1.ApplyOptions{FieldManager: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if again.GetResourceVersion() != applied.GetResourceVersion() {
			t.Error("applying the same again stored something")
		}
		changed := kind.named(t, "a")
		changed.SetLabels(map[string]string{"app": "other"})
		if _, err := kind.client.Apply(t.Context(), "a", changed, metav1.ApplyOptions{FieldManager: "another"}); !apierrors.IsConflict(err) {
			t.Errorf("another manager changing a label gives %v, want Conflict", err)
		}
		forced, err := kind.client.Apply(t.Context(), "a", changed, metav1.ApplyOptions{FieldManager: "another", Force: true})
		if err != nil || forced.GetLabels()["app"] != "other" {
			t.Errorf("forcing it gives labels %v and error %v, want the other label", forced.GetLabels(), err)
		}
	})
}

func TestAListBelongsToOneManagerAsAWhole(t *testing.T) {
	client := newTypedClient(t, listen(t, newServer(t))).MetacontrollerV1alpha1().CompositeControllers()
	apply(t, client, "m", "", compositeWith(`,"childResources":[{"apiVersion":"v1","resource":"pods"}]`))

	_, err := tryApply(t, client, "another", "", compositeWith(`,"childResources":[{"apiVersion":"v1","resource":"services"}]`))
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.childResources") {
		t.Errorf("error = %v, want a conflict about .spec.childResources", err)
	}
}

func TestConditionsBelongToWhoAppliedThem(t *testing.T) {
	client := newTypedClient(t, listen(t, newServer(t))).MetacontrollerV1alpha1().CompositeControllers()
	apply(t, client, "m", "", compositeWith(""))
	condition := func(conditionType string) string {
		return `{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"a"},"status":{"conditions":[
			{"type":"` + conditionType + `","status":"True","reason":"Test","message":"","lastTransitionTime":"2025-01-01T00:00:00Z"}]}}`
	}
	apply(t, client, "one", "status", condition("Ready"))
	object := apply(t, client, "two", "status", condition("HooksReachable"))

	var conditionTypes []string
	for _, condition := range object.Status.Conditions {
		conditionTypes = append(conditionTypes, condition.Type)
	}
	if want := []string{"Ready", "HooksReachable"}; !slices.Equal(want, conditionTypes) {
		t.Errorf("conditions = %v, want %v", conditionTypes, want)
	}
}

func TestWhatASubresourceDoesNotStoreIsNotOwnedThroughIt(t *testing.T) {
	client := newTypedClient(t, listen(t, newServer(t))).MetacontrollerV1alpha1().CompositeControllers()
	const all = `{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"a","labels":{"a":"b"}},
		"spec":{"parentResource":{"apiVersion":"v1","resource":"foos"},"hooks":{"sync":{"webhook":{"url":"http://a"}}}},
		"status":{"observedGeneration":3}}`
	apply(t, client, "main", "", all)
	object := apply(t, client, "status", "status", all)

	for _, entry := range object.ManagedFields {
		owned := entry.FieldsV1.GetRawString()
		spec, status, label := strings.Contains(owned, "f:spec"), strings.Contains(owned, "f:status"), strings.Contains(owned, "f:labels")
		switch entry.Manager {
		case "main":
			if !spec || !label || status {
				t.Errorf("through the main resource, %s is owned; want spec and metadata only", owned)
			}
		case "status":
			if spec || label || !status {
				t.Errorf("through the status subresource, %s is owned; want the status only", owned)
			}
		default:
			t.Errorf("there is a manager %q", entry.Manager)
		}
	}
}

func compositeWith(more string) string {
	return `{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"a"},"spec":{
		"parentResource":{"apiVersion":"v1","resource":"foos"},"hooks":{"sync":{"webhook":{"url":"http://a"}}}` + more + "}}"
}

func apply(t *testing.T, client typed.CompositeControllerInterface, manager, subresource, object string) *v1alpha1.CompositeController {
	t.Helper()
	applied, err := tryApply(t, client, manager, subresource, object)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

func tryApply(t *testing.T, client typed.CompositeControllerInterface, manager, subresource, object string) (*v1alpha1.CompositeController, error) {
	t.Helper()
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	return client.Patch(t.Context(), "a", types.ApplyPatchType, []byte(object), metav1.PatchOptions{FieldManager: manager}, subresources...)
}
