// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestChildIsCreatedWithOwnerSelectorLabelAndRecord(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	parent := f.CreateParent("a", object{"value": "1"})
	child := f.WaitForConfigMap("a", harness.HasData("value", "1"))

	owner := metav1.GetControllerOf(child)
	if owner == nil || owner.UID != parent.GetUID() || owner.Kind != "Thing" || !ptr.Deref(owner.BlockOwnerDeletion, false) {
		t.Errorf("the parent should be the controller of its child, but the owners are %v", child.OwnerReferences)
	}
	if got := child.Labels["controller-uid"]; got != string(parent.GetUID()) {
		t.Errorf("the label controller-uid should be the parent's UID %s, but is %q", parent.GetUID(), got)
	}
	want := fmt.Sprintf(`{"apiVersion":"v1","data":{"value":"1"},"kind":"ConfigMap","metadata":{"labels":{"controller-uid":%q},"name":"a","namespace":%q}}`,
		parent.GetUID(), f.Namespace)
	if got := child.Annotations["metacontroller.k8s.io/last-applied-configuration"]; got != want {
		t.Errorf("the record of what was applied is\n%s\nbut should be\n%s", got, want)
	}
	if manager := child.ManagedFields[0]; manager.Manager != "metacontroller" || manager.Operation != metav1.ManagedFieldsOperationUpdate {
		t.Errorf("the fields should be owned by an update of metacontroller, not by %v", manager)
	}
}

func TestUpdateMethods(t *testing.T) { underBothEngines(t, testUpdateMethods) }

func testUpdateMethods(t *testing.T, engine change) {
	t.Parallel()
	tests := []struct {
		method v1alpha1.ChildUpdateMethod
		// check compares the child before and after the parent changed.
		check func(before, after *corev1.ConfigMap) error
	}{
		{v1alpha1.ChildUpdateInPlace, func(before, after *corev1.ConfigMap) error {
			return errors.Join(harness.HasData("value", "2")(after), same(before, after))
		}},
		{v1alpha1.ChildUpdateRecreate, func(before, after *corev1.ConfigMap) error {
			if before.UID == after.UID {
				return errors.New("the child should have been replaced")
			}
			return harness.HasData("value", "2")(after)
		}},
		{v1alpha1.ChildUpdateOnDelete, func(before, after *corev1.ConfigMap) error {
			return errors.Join(harness.HasData("value", "1")(after), same(before, after))
		}},
	}
	for _, test := range tests {
		t.Run(string(test.method), func(t *testing.T) {
			t.Parallel()
			f := start(t, answers(t, oneConfigMap), func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ChildResources[0] = harness.ChildRule("v1", "configmaps", test.method)
			}, engine)
			f.CreateParent("a", object{"value": "1"})
			before := f.WaitForConfigMap("a", harness.HasData("value", "1"))
			f.PatchParent("a", object{"spec": object{"value": "2"}})
			f.waitUntilObserved("a", 2)
			f.WaitForConfigMap("a", func(after *corev1.ConfigMap) error { return test.check(before, after) })
		})
	}
}

func same(before, after *corev1.ConfigMap) error {
	if before.UID != after.UID {
		return errors.New("the child should not have been replaced")
	}
	return nil
}

func TestOnDeleteChildComesBackInItsNewForm(t *testing.T) {
	underBothEngines(t, testOnDeleteChildComesBackInItsNewForm)
}

func testOnDeleteChildComesBackInItsNewForm(t *testing.T, engine change) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources[0].UpdateStrategy = nil
	}, engine)
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.waitUntilObserved("a", 2)
	f.DeleteConfigMap("a")
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
}

func TestFieldsOfOthersStay(t *testing.T) { underBothEngines(t, testFieldsOfOthersStay) }

func testFieldsOfOthersStay(t *testing.T, engine change) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap), engine)
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.PatchConfigMap("a", object{"data": object{"other": "theirs", "value": "overwritten"}})
	f.WaitForConfigMap("a", func(child *corev1.ConfigMap) error {
		return errors.Join(harness.HasData("value", "1")(child), harness.HasData("other", "theirs")(child))
	})
}

func TestChildTheHookDropsIsDeleted(t *testing.T) {
	underBothEngines(t, testChildTheHookDropsIsDeleted)
}

func testChildTheHookDropsIsDeleted(t *testing.T, engine change) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		if asked.Parent.Object["spec"].(object)["value"] == "none" {
			return object{"children": []object{}}
		}
		return oneConfigMap(asked)
	}), engine)
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.PatchParent("a", object{"spec": object{"value": "none"}})
	f.WaitUntilConfigMapIsGone("a")
}

func TestDeletedChildComesBack(t *testing.T) { underBothEngines(t, testDeletedChildComesBack) }

func testDeletedChildComesBack(t *testing.T, engine change) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap), engine)
	f.CreateParent("a", object{"value": "1"})
	before := f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.DeleteConfigMap("a")
	f.WaitForConfigMap("a", func(after *corev1.ConfigMap) error {
		if before.UID == after.UID {
			return errors.New("the child is not deleted yet")
		}
		return harness.HasData("value", "1")(after)
	})
}

func TestChildrenOfADeletedParentAreCollected(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.DeleteParent("a")
	f.WaitUntilConfigMapIsGone("a")
}

func TestNameOfAnotherIsReportedAndTakenOnlyWhenItIsFree(t *testing.T) {
	underBothEngines(t, testNameOfAnotherIsReportedAndTakenOnlyWhenItIsFree)
}

func testNameOfAnotherIsReportedAndTakenOnlyWhenItIsFree(t *testing.T, engine change) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap), engine)
	_, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"value": "theirs"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.CreateParent("a", object{"value": "1"})
	env.WaitForEvent(t, f.Namespace, "a", "ChildNameTaken", "ConfigMap "+f.Namespace+"/a")
	f.waitUntilObserved("a", 1)
	f.WaitForConfigMap("a", harness.HasData("value", "theirs"))

	f.DeleteConfigMap("a")
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
}

func TestStatus(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	env.Eventually(t, func(ctx context.Context) error {
		return f.statusIs(ctx, "a", object{"children": int64(1), "observedGeneration": int64(1)})
	})
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	env.Eventually(t, func(ctx context.Context) error {
		return f.statusIs(ctx, "a", object{"children": int64(1), "observedGeneration": int64(2)})
	})
	f.Hook.Handle(answers(t, func(request) object { return object{} }))
	f.PatchParent("a", object{"spec": object{"value": "3"}})
	env.Eventually(t, func(ctx context.Context) error {
		return f.statusIs(ctx, "a", object{"observedGeneration": int64(3)})
	})
}

func (f *fixture) statusIs(ctx context.Context, name string, want object) error {
	parent, err := f.GetParent(ctx, name)
	if err != nil {
		return err
	}
	if got := parent.Object["status"]; harness.JSON(f, got) != harness.JSON(f, want) {
		return fmt.Errorf("the status of %s should be %v, but is %v", name, want, got)
	}
	return nil
}

// waitUntilObserved waits until a parent was synced at a generation.
func (f *fixture) waitUntilObserved(name string, generation int64) {
	f.Helper()
	f.WaitForParent(name, func(parent *unstructured.Unstructured) error {
		observed, _, err := unstructured.NestedInt64(parent.Object, "status", "observedGeneration")
		if err != nil || observed < generation {
			return fmt.Errorf("generation %d of %s should have been synced, but %d was (%v)", generation, name, observed, err)
		}
		return nil
	})
}
