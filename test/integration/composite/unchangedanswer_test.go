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

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// An answer that never changes, byte for byte, is carried out again whenever an object differs from
// it.
func TestAnAnswerThatNeverChangesIsCarriedOut(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		return object{"status": object{"state": "fine"}, "children": []object{hook.ConfigMap(asked.Parent.GetName(), object{"a": "b"})}}
	}))
	f.CreateParent("p", object{})
	child := f.WaitForConfigMap("p", harness.HasData("a", "b"))
	isFine := func(ctx context.Context) error {
		return f.statusIs(ctx, "p", object{"state": "fine", "observedGeneration": int64(1)})
	}
	env.Eventually(t, isFine)
	rest := func(touch string) { // there is nothing to do, and the controller has seen so
		f.PatchParent("p", object{"metadata": object{"annotations": object{"touched": touch}}})
		f.waitUntilSeenByHook(1, func(parent *unstructured.Unstructured) bool { return parent.GetAnnotations()["touched"] == touch })
	}
	owned := func(configMap *corev1.ConfigMap) error {
		if metav1.GetControllerOf(configMap) == nil {
			return errors.New("the child has no controller")
		}
		return nil
	}

	rest("before a change of the child")
	f.PatchConfigMap("p", object{"data": object{"a": "c"}})
	f.WaitForConfigMap("p", harness.HasData("a", "b"))

	rest("before the child loses its owner")
	f.PatchConfigMap("p", object{"metadata": object{"ownerReferences": nil}})
	f.WaitForConfigMap("p", owned)

	rest("before the child goes")
	f.DeleteConfigMap("p")
	f.WaitForConfigMap("p", func(configMap *corev1.ConfigMap) error {
		if configMap.UID == child.UID {
			return errors.New("the child is the old one")
		}
		return harness.HasData("a", "b")(configMap)
	})

	rest("before a change of the status")
	f.PatchParent("p", object{"status": object{"state": "odd"}}, "status")
	env.Eventually(t, isFine)

	rest("before the spec changes")
	f.PatchParent("p", object{"spec": object{"x": "y"}})
	env.Eventually(t, func(ctx context.Context) error {
		return f.statusIs(ctx, "p", object{"state": "fine", "observedGeneration": int64(2)})
	})
}
