// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// withSelector makes the controller use the parents' own selectors.
func withSelector(spec *v1alpha1.CompositeControllerSpec) { spec.GenerateSelector = nil }

// labelledConfigMap answers one ConfigMap with the labels that the parent's selector asks for.
func labelledConfigMap(asked request) object {
	answer := oneConfigMap(asked)
	answer["children"].([]object)[0]["metadata"].(object)["labels"] = object{"app": "mine"}
	return answer
}

func selectorSpec(value string) object {
	return object{"value": value, "selector": object{"matchLabels": object{"app": "mine"}}}
}

// A StatefulSet's claims, for instance, have the labels of their parent's selector. The answer that names the object
// makes it one of the controller's.
func TestQ50AdoptedChildThatNoAnswerHasNamedIsKept(t *testing.T) {
	underBothEngines(t, testAdoptedChildThatNoAnswerHasNamedIsKept)
}

// isSyncedAt accepts a parent whose status is of a generation.
func isSyncedAt(generation int64) func(*unstructured.Unstructured) error {
	return func(parent *unstructured.Unstructured) error {
		seen, _, _ := unstructured.NestedInt64(parent.Object, "status", "observedGeneration")
		if seen != generation {
			return fmt.Errorf("the parent should be synced at generation %d, but is at %d", generation, seen)
		}
		return nil
	}
}

func testAdoptedChildThatNoAnswerHasNamedIsKept(t *testing.T, engine change) {
	t.Parallel()
	onDelete := func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources[0].UpdateStrategy.Method = new(v1alpha1.ChildUpdateOnDelete)
	}
	f := start(t, answers(t, func(asked request) object {
		if asked.Parent.Object["spec"].(object)["value"] != "named" {
			return object{"children": []object{}}
		}
		return labelledConfigMap(asked)
	}), withSelector, engine, onDelete)
	orphan, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "mine"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parent := f.CreateParent("a", selectorSpec("unnamed"))
	env.WaitForEvent(t, f.Namespace, "a", "Adopted", "Adopted ConfigMap "+f.Namespace+"/a: ")
	env.WaitForEvent(t, f.Namespace, "a", "ChildKept", "ConfigMap "+f.Namespace+"/a: the parent controls it")

	f.PatchParent("a", object{"spec": object{"value": "named"}})
	f.WaitForParent("a", isSyncedAt(parent.GetGeneration()+1))
	f.WaitForConfigMap("a", func(child *corev1.ConfigMap) error {
		if child.UID != orphan.UID {
			t.Fatal("the orphan was replaced")
		}
		return nil
	})
	f.PatchParent("a", object{"spec": object{"value": "unnamed"}})
	f.WaitUntilConfigMapIsGone("a")
}

// With ignoreStatusChanges, changes of the status lead to no sync. The same holds for changes of
// finalizers and owners alone.
func TestQ34IgnoredStatusChangesHideFinalizersAndOwners(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object { return object{} }), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.IgnoreStatusChanges = ptr.To(true)
	})
	// The host's garbage collector deletes objects whose only owner does not exist.
	owner, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.CreateParent("a", object{})
	f.waitUntilObserved("a", 1)
	f.PatchParent("a", object{"status": object{"other": "program"}}, "status")
	f.PatchParent("a", object{"metadata": object{"finalizers": []any{harness.OtherFinalizer}}})
	f.PatchParent("a", object{"metadata": object{"ownerReferences": []any{object{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": string(owner.UID)}}}})
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.waitUntilObserved("a", 2)
	if calls := len(f.Hook.Calls()); calls != 2 {
		t.Errorf("two changes of the spec should be two calls, and the other changes none, but there were %d calls", calls)
	}
	f.DeleteParent("a", metav1.DeletePropagationBackground)
	f.waitForCall("/sync", "a", isDeleted)
	f.PatchParent("a", object{"metadata": object{"finalizers": nil}})
}
