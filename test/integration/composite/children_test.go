// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// A child has its parent as its owner, a label by which the parent finds it, and a record of what was applied. The
// host's garbage collector deletes it with its parent.
func TestAChildBelongsToItsParent(t *testing.T) {
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

	f.DeleteParent("a")
	f.WaitUntilConfigMapIsGone("a")
}

func TestUpdateMethods(t *testing.T) { underBothEngines(t, testUpdateMethods) }

// Each type of children has its own update method, which is OnDelete if there is none.
func testUpdateMethods(t *testing.T, engine change) {
	t.Parallel()
	wants := func(value string) object {
		return harness.FromYAML(t, strings.ReplaceAll(`{children: [
  {apiVersion: v1, kind: Service, metadata: {name: it}, spec: {selector: {is: VALUE}, ports: [{port: 80}]}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: it}, data: {is: VALUE}},
  {apiVersion: v1, kind: ServiceAccount, metadata: {name: it, annotations: {is: VALUE}}}]}`, "VALUE", value))
	}
	accounts := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	is := map[schema.GroupVersionResource]string{
		services: `{spec: {selector: {is: VALUE}}}`, configMaps: `{data: {is: VALUE}}`,
		accounts: `{metadata: {annotations: {is: VALUE}}}`,
	}
	f := start(t, answers(t, wantedChildren), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{
			harness.ChildRule("v1", "services", v1alpha1.ChildUpdateInPlace),
			harness.ChildRule("v1", "configmaps", v1alpha1.ChildUpdateRecreate),
			{ResourceRule: v1alpha1.ResourceRule{APIVersion: "v1", Resource: "serviceaccounts"}},
		}
	}, engine)
	waitUntilIs := func(of schema.GroupVersionResource, value string) types.UID {
		t.Helper()
		fields := harness.FromYAML(t, strings.ReplaceAll(is[of], "VALUE", value))
		return f.waitForChild(of, contains(fields)).GetUID()
	}
	f.CreateParent("a", wants("first"))
	before := map[schema.GroupVersionResource]types.UID{}
	for of := range is {
		before[of] = waitUntilIs(of, "first")
	}
	f.PatchParent("a", object{"spec": wants("second")})
	f.waitUntilObserved("a", 2)
	if after := waitUntilIs(services, "second"); after != before[services] {
		t.Error("the child that is updated in place was replaced")
	}
	if after := waitUntilIs(configMaps, "second"); after == before[configMaps] {
		t.Error("the child that is recreated is still the same object")
	}
	if after := waitUntilIs(accounts, "first"); after != before[accounts] {
		t.Error("the child that is updated on its deletion was replaced")
	}
	err := env.Kube.CoreV1().ServiceAccounts(f.Namespace).Delete(t.Context(), "it", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	waitUntilIs(accounts, "second")
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
