// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAttachmentIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		if value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value"); value == "none" {
			return object{}
		}
		return oneConfigMap(asked)
	}))
	target := f.target("a", nil, object{"value": "1"})
	made := env.WaitForConfigMap(t, f.namespace, "a", hasData("value", "1"))
	owner := metav1.GetControllerOf(made)
	if owner == nil || owner.UID != target.GetUID() || owner.Kind != "Thing" || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		t.Errorf("the attachment's owner is %v", owner)
	}
	if got := made.Annotations["metacontroller.k8s.io/decorator-controller"]; got != f.controller.Name {
		t.Errorf("the attachment is said to be of %q", got)
	}
	f.patch("a", object{"spec": object{"value": "2"}})
	env.WaitForConfigMap(t, f.namespace, "a", hasData("value", "2"))
	f.patch("a", object{"spec": object{"value": "none"}})
	env.WaitUntilConfigMapIsGone(t, f.namespace, "a")
}

func TestADeletedAttachmentComesBack(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.target("a", nil, object{"value": "1"})
	first := env.WaitForConfigMap(t, f.namespace, "a", hasData("value", "1"))
	if err := env.Kube.CoreV1().ConfigMaps(f.namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.WaitForConfigMap(t, f.namespace, "a", func(again *corev1.ConfigMap) error {
		if again.UID == first.UID {
			return errors.New("it is still the first one")
		}
		return nil
	})
}

// Labels and annotations that the answer does not name stay.
func TestTheTargetIsChangedAsAnswered(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object {
		return object{
			"labels":      object{"added": "by-hook", "removed": nil},
			"annotations": object{"note": "any text, of any length", "gone": nil},
			"status":      object{"phase": "decorated"},
		}
	}))
	f.target("a", object{"labels": object{"kept": "1", "removed": "1"}, "annotations": object{"kept": "1", "gone": "1"}}, object{})
	f.waitFor("a", func(target *unstructured.Unstructured) error {
		labels, annotations := target.GetLabels(), target.GetAnnotations()
		phase, _, _ := unstructured.NestedString(target.Object, "status", "phase")
		if len(labels) != 2 || labels["added"] != "by-hook" || len(annotations) != 2 || annotations["note"] == "" || phase != "decorated" {
			return fmt.Errorf("labels are %v, annotations %v, phase %q", labels, annotations, phase)
		}
		return nil
	})
}
