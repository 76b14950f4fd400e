// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// A hook that always lists a child of an undeclared kind still gets rid of the children that it
// does not list, and its parent goes in the end.
func TestChildrenAreDeletedBesideARefusedOne(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		children := []object{{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "undeclared"}}}
		count, _, _ := unstructured.NestedInt64(asked.Parent.Object, "spec", "count")
		for i := range count {
			if !asked.Finalizing {
				children = append(children, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": fmt.Sprintf("a-%d", i)}})
			}
		}
		return object{"children": children, "finalized": asked.Finalizing && len(asked.Children["ConfigMap.v1"]) == 0}
	}), withFinalize)
	f.CreateParent("a", object{"count": 3})
	for i := range 3 {
		f.WaitForConfigMap(fmt.Sprintf("a-%d", i), harness.Exists)
	}
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", `declares no kind "Secret"`)
	f.PatchParent("a", object{"spec": object{"count": 1}})
	f.WaitUntilConfigMapIsGone("a-2")
	f.WaitUntilConfigMapIsGone("a-1")
	f.WaitForConfigMap("a-0", harness.Exists)
	f.DeleteParent("a", metav1.DeletePropagationBackground)
	f.WaitUntilParentIsGone("a")
	f.WaitUntilConfigMapIsGone("a-0")
}
