// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A script that was made for kubectl apply lists the parent as a plain owner, and a copy of another object has the
// metadata of that, with its controller. Both are created once, and stay.
func TestAChildIsControlledByItsParentWhateverTheHookLists(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		parent := object{
			"apiVersion": asked.Parent.GetAPIVersion(), "kind": asked.Parent.GetKind(),
			"name": asked.Parent.GetName(), "uid": string(asked.Parent.GetUID()),
		}
		maker := object{"apiVersion": "v1", "kind": "Secret", "name": "maker", "uid": "maker", "controller": true}
		plain, copied := hook.ConfigMap("plain", nil), hook.ConfigMap("copied", nil)
		plain["metadata"].(object)["ownerReferences"] = []object{parent}
		copied["metadata"] = object{
			"name": "copied", "uid": "x", "resourceVersion": "9", "generation": 3,
			"creationTimestamp": "2026-03-04T05:06:07Z", "ownerReferences": []object{maker},
		}
		return object{"children": []object{plain, copied}}
	}), byServerSideApply)
	parent := f.CreateParent("a", object{"value": "1"})
	f.WaitForParent("a", isSyncedAt(parent.GetGeneration()))
	versions := map[string]string{}
	for _, name := range []string{"plain", "copied"} {
		child := f.WaitForConfigMap(name, func(*corev1.ConfigMap) error { return nil })
		want := []metav1.OwnerReference{{
			APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(), Name: "a", UID: parent.GetUID(),
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}}
		if diff := cmp.Diff(want, child.OwnerReferences); diff != "" {
			t.Errorf("owners of %s (-want +got):\n%s", name, diff)
		}
		versions[name] = child.ResourceVersion
	}
	env.WaitForEvent(t, f.Namespace, "a", "OwnerIgnored", "metadata.ownerReferences names Secret maker")
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForParent("a", isSyncedAt(parent.GetGeneration()+1))
	for name, version := range versions {
		child := f.WaitForConfigMap(name, func(*corev1.ConfigMap) error { return nil })
		if child.ResourceVersion != version {
			t.Errorf("%s was written again", name)
		}
	}
	env.ExpectNoSyncErrorBut(t, f.Namespace, "a", "none is expected")
}

// The cluster warns of a deprecated type in each answer to a read or a write. No answer of a hook can change that.
func TestADeprecatedTypeIsAWarningOfTheController(t *testing.T) {
	t.Parallel()
	group := harness.Name("deprecated") + ".example.com"
	env.Apply(t, strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: old.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: old, singular: old, kind: Old}
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: true
    deprecationWarning: Old is deprecated
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, "GROUP", group))
	f := start(t, answers(t, func(asked request) object {
		return object{"children": []object{{"apiVersion": group + "/v1", "kind": "Old", "metadata": object{"name": "a"}}}}
	}), func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources[0].ResourceRule = v1alpha1.ResourceRule{APIVersion: group + "/v1", Resource: "old"}
	})
	parent := f.CreateParent("a", object{"value": "1"})
	f.WaitForParent("a", isSyncedAt(parent.GetGeneration()))
	env.WaitForEvent(t, metav1.NamespaceDefault, f.Controller.Name, "ClusterWarning", "Old is deprecated")
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Synced != 1 {
			return fmt.Errorf("the parent should be counted as synced: %+v", status.Parents)
		}
		return nil
	})
	f.WaitForCondition(v1alpha1.ConditionWarnings, metav1.ConditionFalse)
}
