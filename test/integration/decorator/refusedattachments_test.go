// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// A hook that always lists an attachment of an undeclared kind still gets rid of the attachments
// that it does not list, and its target goes in the end.
func TestAttachmentsAreDeletedBesideARefusedOne(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		attachments := []object{{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "undeclared"}}}
		count, _, _ := unstructured.NestedInt64(asked.Object.Object, "spec", "count")
		for i := range count {
			if !asked.Finalizing {
				attachments = append(attachments, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": fmt.Sprintf("a-%d", i)}})
			}
		}
		return object{"attachments": attachments, "finalized": asked.Finalizing && len(asked.Attachments["ConfigMap.v1"]) == 0}
	}), withFinalize, selecting)
	f.CreateParentWith("a", selected(), object{"count": 3})
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
