// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// An answer that never changes, byte for byte, is carried out again whenever an object differs from
// it.
func TestAnAnswerThatNeverChangesIsCarriedOut(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		return object{
			"labels": object{"seen": "yes"}, "status": object{"state": "fine"},
			"attachments": []object{hook.ConfigMap(asked.Object.GetName(), object{"a": "b"})},
		}
	}))
	f.CreateParent("t", object{})
	f.WaitForConfigMap("t", harness.HasData("a", "b"))
	isFine := func(target *unstructured.Unstructured) error {
		state, _, _ := unstructured.NestedString(target.Object, "status", "state")
		if state != "fine" || target.GetLabels()["seen"] != "yes" {
			return fmt.Errorf("the target has state %q and labels %v", state, target.GetLabels())
		}
		return nil
	}
	f.WaitForParent("t", isFine)

	for what, spoil := range map[string]func(){
		"its label":      func() { f.PatchParent("t", object{"metadata": object{"labels": object{"seen": nil}}}) },
		"its status":     func() { f.PatchParent("t", object{"status": object{"state": "odd"}}, "status") },
		"its attachment": func() { f.PatchConfigMap("t", object{"data": object{"a": "c"}}) },
	} {
		t.Run(what, func(t *testing.T) {
			f.touch("/sync", "t") // there is nothing to do, and the controller has seen so
			spoil()
			f.WaitForParent("t", isFine)
			f.WaitForConfigMap("t", harness.HasData("a", "b"))
		})
	}
}
