// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// A hook that always answers the same, byte by byte, is carried out whenever something is not as it says.
func TestAnAnswerThatNeverChangesIsCarriedOut(t *testing.T) {
	f := start(t, answers(t, func(asked request) object {
		return object{"status": object{"state": "fine"}, "children": []object{configMapChild(asked.Parent.GetName(), object{"a": "b"})}}
	}))
	f.parent("p", object{})
	child := f.waitForConfigMap("p", hasData("a", "b"))
	isFine := func(ctx context.Context) error {
		return f.statusIs(ctx, "p", object{"state": "fine", "observedGeneration": int64(1)})
	}
	env.Eventually(t, isFine)
	rest := func(touch string) { // there is nothing to do, and the controller has seen so
		f.patchParent("p", mustJSON(t, object{"metadata": object{"annotations": object{"touched": touch}}}))
		f.waitUntilSeenByHook(1, func(parent *unstructured.Unstructured) bool { return parent.GetAnnotations()["touched"] == touch })
	}
	configMaps := env.Kube.CoreV1().ConfigMaps(f.namespace)
	patch := func(text string) {
		if _, err := configMaps.Patch(t.Context(), "p", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	owned := func(configMap *corev1.ConfigMap) error {
		if metav1.GetControllerOf(configMap) == nil {
			return errors.New("the child has no controller")
		}
		return nil
	}

	rest("before a change of the child")
	patch(`{"data":{"a":"c"}}`)
	f.waitForConfigMap("p", hasData("a", "b"))

	rest("before the child loses its owner")
	patch(`{"metadata":{"ownerReferences":null}}`)
	f.waitForConfigMap("p", owned)

	rest("before the child goes")
	if err := configMaps.Delete(t.Context(), "p", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.waitForConfigMap("p", func(configMap *corev1.ConfigMap) error {
		if configMap.UID == child.UID {
			return errors.New("the child is the old one")
		}
		return hasData("a", "b")(configMap)
	})

	rest("before a change of the status")
	_, err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).
		Patch(t.Context(), "p", types.MergePatchType, []byte(`{"status":{"state":"odd"}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, isFine)

	rest("before the spec changes")
	f.patchParent("p", `{"spec":{"x":"y"}}`)
	env.Eventually(t, func(ctx context.Context) error {
		return f.statusIs(ctx, "p", object{"state": "fine", "observedGeneration": int64(2)})
	})
}
