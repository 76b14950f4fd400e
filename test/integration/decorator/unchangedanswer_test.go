// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A hook that always answers the same, byte by byte, is carried out whenever something is not as it says.
func TestAnAnswerThatNeverChangesIsCarriedOut(t *testing.T) {
	f := start(t, answers(t, func(asked request) object {
		return object{
			"labels": object{"seen": "yes"}, "status": object{"state": "fine"},
			"attachments": []object{configMap(asked.Object.GetName(), object{"a": "b"})},
		}
	}))
	f.target("t", nil, object{})
	env.WaitForConfigMap(t, f.namespace, "t", hasData("a", "b"))
	isFine := func(target *unstructured.Unstructured) error {
		state, _, _ := unstructured.NestedString(target.Object, "status", "state")
		if state != "fine" || target.GetLabels()["seen"] != "yes" {
			return fmt.Errorf("the target has state %q and labels %v", state, target.GetLabels())
		}
		return nil
	}
	f.waitFor("t", isFine)

	for what, spoil := range map[string]func(){
		"its label":  func() { f.patch("t", object{"metadata": object{"labels": object{"seen": nil}}}) },
		"its status": func() { f.patch("t", object{"status": object{"state": "odd"}}, "status") },
		"its attachment": func() {
			_, err := env.Kube.CoreV1().ConfigMaps(f.namespace).
				Patch(t.Context(), "t", types.MergePatchType, []byte(`{"data":{"a":"c"}}`), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			f.touch("/sync", "t") // there is nothing to do, and the controller has seen so
			spoil()
			f.waitFor("t", isFine)
			env.WaitForConfigMap(t, f.namespace, "t", hasData("a", "b"))
		})
	}
}
