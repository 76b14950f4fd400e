// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

func TestAttachmentIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		if value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value"); value == "none" {
			return object{}
		}
		return oneConfigMap(asked)
	}))
	target := f.CreateParent("a", object{"value": "1"})
	made := f.WaitForConfigMap("a", harness.HasData("value", "1"))
	owner := metav1.GetControllerOf(made)
	if owner == nil || owner.UID != target.GetUID() || owner.Kind != "Thing" || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		t.Errorf("the attachment's owner is %v", owner)
	}
	if got := made.Annotations["metacontroller.k8s.io/decorator-controller"]; got != f.Controller.Name {
		t.Errorf("the attachment is said to be of %q", got)
	}
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.PatchParent("a", object{"spec": object{"value": "none"}})
	f.WaitUntilConfigMapIsGone("a")
}

// A controller can be an attachment: an operator is made for each definition of one. The server runs the controller and
// writes it once, and it goes with the target.
func TestAControllerIsAnAttachment(t *testing.T) {
	t.Parallel()
	parents := env.Install(t, harness.CRD{Kind: "Made"})
	made := harness.Composite(harness.Name("made"))
	var f *fixture
	f = prepare(t, harness.CRD{Kind: "Thing", ClusterScoped: true}, answers(t, func(request) object {
		return object{"attachments": []object{{
			"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "CompositeController",
			"metadata": object{"name": made.Name},
			"spec": object{
				"generateSelector": true,
				"parentResource":   object{"apiVersion": parents.GroupVersion().String(), "resource": parents.Resource},
				"childResources":   []object{{"apiVersion": "v1", "resource": "configmaps"}},
				"hooks":            object{"sync": object{"webhook": object{"url": f.Hook.URL("/made"), "timeout": "60s"}}},
			},
		}}}
	}))
	f.Namespace = ""
	f.RunDecorator(f.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Attachments = []v1alpha1.DecoratorControllerAttachmentRule{harness.AttachmentRule(
			v1alpha1.SchemeGroupVersion.String(), "compositecontrollers", v1alpha1.ChildUpdateInPlace)}
	}))
	from := env.AuditEnd(t)
	f.CreateParent("a", object{})
	env.WaitForReady(t, made, metav1.ConditionTrue, "Running")
	f.Settle("a")
	writes := env.Requests(t, from, hostcluster.Request{
		Verbs: hostcluster.Writes(), Group: v1alpha1.GroupName, Resource: made.Resource,
	})
	if fmt.Sprint(writes) != "[create]" {
		t.Errorf("the attachment was written by %v, want one request", writes)
	}
	f.DeleteParent("a")
	env.WaitUntilControllerIsGone(t, made)
}
