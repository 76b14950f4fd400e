// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// Events of a hook's answers are written once, about the parent or about a child.
func TestAHookTellsEvents(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		answer := oneConfigMap(asked)
		answer["events"] = []object{
			{"type": "Warning", "reason": "BackupFailed", "message": "the disk is full"},
			{"reason": "Filled", "message": "with a value", "child": object{"apiVersion": "v1", "kind": "ConfigMap", "name": asked.Parent.GetName() + "-child"}},
		}
		answer["children"].([]object)[0]["metadata"].(object)["name"] = asked.Parent.GetName() + "-child"
		if len(asked.Children["ConfigMap.v1"]) == 0 {
			delete(answer, "events")
		}
		return answer
	}))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a-child", harness.HasData("value", "1"))
	env.WaitForEvent(f, f.Namespace, "a", "BackupFailed", "the disk is full")
	env.WaitForEvent(f, f.Namespace, "a-child", "Filled", "with a value")
	f.Settle("a")
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a-child", harness.HasData("value", "2"))
	f.Settle("a")
	events, err := env.Kube.CoreV1().Events(f.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=BackupFailed"})
	if err != nil {
		t.Fatal(err)
	}
	if len(events.Items) != 1 || events.Items[0].Count > 1 {
		t.Errorf("the event was written more than once: %v", events.Items)
	}
}
