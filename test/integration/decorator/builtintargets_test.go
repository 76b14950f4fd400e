// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// ofBuiltIn makes objects of a built-in type the targets, if they have the test's label.
func (f *fixture) ofBuiltIn(of schema.GroupVersionResource) change {
	return func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Resources = []v1alpha1.DecoratorControllerResourceRule{{
			ResourceRule:  v1alpha1.ResourceRule{APIVersion: of.GroupVersion().String(), Resource: of.Resource},
			LabelSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]string{"test": f.Namespace}},
		}}
		spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy()
	}
}

// A namespace can be a target whose attachments are in it. No object can be created in a namespace
// that is being deleted. That does not block the deletion, nor does a status that the hook answers.
func TestANamespaceIsDecoratedAndGoes(t *testing.T) {
	t.Parallel()
	f := prepare(t, harness.CRD{Kind: "Thing"}, answers(t, func(asked request) object {
		inside := hook.ConfigMap("inside", object{"of": asked.Object.GetName()})
		inside["metadata"].(object)["namespace"] = asked.Object.GetName()
		return object{
			"labels": object{"decorated": "yes"}, "annotations": object{"decorated": "yes"},
			"attachments": []object{inside}, "status": object{"conditions": []object{}},
			"finalized": asked.Finalizing && len(asked.Attachments["ConfigMap.v1"]) == 0,
		}
	}))
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	f.RunDecorator(f.DecoratorSpec(f.ofBuiltIn(namespaces)))
	made, err := env.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "decorated-", Labels: map[string]string{"test": f.Namespace}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inside := env.WaitForConfigMap(t, made.Name, "inside", harness.HasData("of", made.Name))
	if owner := metav1.GetControllerOf(inside); owner == nil || owner.UID != made.UID {
		t.Errorf("the attachment is owned by %v", owner)
	}
	env.Eventually(t, func(ctx context.Context) error {
		found, err := env.Kube.CoreV1().Namespaces().Get(ctx, made.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Labels["decorated"] != "yes" || found.Annotations["decorated"] != "yes" || len(found.Finalizers) != 1 || found.Status.Phase != corev1.NamespaceActive {
			return fmt.Errorf("it should be decorated, and active: %v %v", found.ObjectMeta, found.Status)
		}
		return nil
	})
	mark := func(text string) {
		patch := harness.JSON(t, object{"metadata": object{"annotations": object{"mark": text}}})
		if _, err := env.Kube.CoreV1().Namespaces().Patch(t.Context(), made.Name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	in := *f
	in.Namespace = made.Name
	in.expectNoOpAfter(mark, f.Hook)
	if err := env.Kube.CoreV1().Namespaces().Delete(t.Context(), made.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, func(ctx context.Context) error {
		found, err := env.Kube.CoreV1().Namespaces().Get(ctx, made.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the namespace should be gone: %v %v", found, err)
	})
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.LastError != nil {
			t.Fatalf("a sync has failed: %s", status.LastError.Message)
		}
		return nil
	})
}

// deployment creates a Deployment with the test's label.
func (f *fixture) deployment(name string) {
	f.Helper()
	container := object{"name": "c", "image": "x", "resources": object{"limits": object{"cpu": "1000m"}}}
	_, err := env.Dynamic.Resource(deployments).Namespace(f.Namespace).Create(f.Context(), &unstructured.Unstructured{Object: object{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name, "labels": object{"test": f.Namespace}},
		"spec": object{
			"selector": object{"matchLabels": object{"app": "x"}},
			"template": object{"metadata": object{"labels": object{"app": "x"}}, "spec": object{"containers": []any{container}}},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

// A decorator can change a Deployment. Its status has another writer, so it is changed only if the
// hook answers one.
func TestADeploymentIsDecorated(t *testing.T) {
	t.Parallel()
	f := prepare(t, harness.CRD{Kind: "Thing"}, answers(t, func(asked request) object {
		answer := object{
			"labels": object{"decorated": "yes"}, "annotations": object{"decorated": "yes"},
			"attachments": []object{hook.ConfigMap(asked.Object.GetName(), object{"of": asked.Object.GetName()})}, "finalized": asked.Finalizing,
		}
		status, _, _ := unstructured.NestedMap(asked.Object.Object, "status")
		if asked.Object.GetAnnotations()["status"] != "" {
			status["collisionCount"] = 7
			answer["status"] = status
		}
		return answer
	}))
	f.RunDecorator(f.DecoratorSpec(f.ofBuiltIn(deployments)))
	f.Parents = deployments
	f.deployment("a")
	f.WaitForConfigMap("a", harness.HasData("of", "a"))
	decorated := func(target *unstructured.Unstructured) error {
		if target.GetLabels()["decorated"] != "yes" || target.GetAnnotations()["decorated"] != "yes" || len(target.GetFinalizers()) != 1 {
			return fmt.Errorf("it should be decorated: %v", target.Object["metadata"])
		}
		return nil
	}
	f.WaitForParent("a", decorated)
	f.expectNoOp("a", f.Hook)
	f.PatchParent("a", object{"status": object{"observedGeneration": 1, "replicas": 1}}, "status") // as its controller does
	f.expectNoOp("a", f.Hook)
	f.PatchParent("a", object{"metadata": object{"annotations": object{"status": "yes"}}})
	f.WaitForParent("a", func(target *unstructured.Unstructured) error {
		status, _, _ := unstructured.NestedMap(target.Object, "status")
		if status["collisionCount"] != int64(7) || status["replicas"] != int64(1) {
			return fmt.Errorf("the status is %v", status)
		}
		return decorated(target)
	})
	f.expectNoOp("a", f.Hook)
	f.DeleteParent("a")
	f.WaitUntilParentIsGone("a")
}
