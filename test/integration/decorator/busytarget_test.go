// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A target that others annotate faster than its hook answers is decorated, and is finalized. A
// ConfigMap has no generation, and others may also write the fields that the hook says nothing about.
func TestATargetThatChangesFasterThanItsHookAnswers(t *testing.T) {
	t.Parallel()
	for name, crd := range map[string]harness.CRD{
		"a ConfigMap":                      {},
		"a type with a status subresource": {Kind: "Thing"},
		"a type without one":               {Kind: "Thing", NoStatus: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := harness.Slowly(answers(t, func(asked request) object {
				answer := object{"labels": object{"decorated": "yes"}, "annotations": object{"note": "ours"}, "finalized": asked.Finalizing}
				if crd.Kind != "" {
					answer["status"] = object{"decorated": "yes"}
				}
				return answer
			}))
			f := &fixture{harness.Fixture{T: t, Env: env, Hook: hook.Serve(t, handler), Namespace: env.Namespace(t)}}
			target := object{"apiVersion": "v1", "kind": "ConfigMap"}
			f.Parents = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
			if crd.Kind != "" {
				f.Parents = env.Install(t, crd)
				target = object{"apiVersion": f.Parents.GroupVersion().String(), "kind": crd.Kind}
			}
			f.RunDecorator(f.DecoratorSpec(withFinalize, func(spec *v1alpha1.DecoratorControllerSpec) {
				spec.Attachments = nil
				spec.Resources[0].LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"test": f.Namespace}}
			}))
			target["metadata"] = object{"name": "a", "labels": object{"test": f.Namespace}}
			if _, err := f.ParentClient().Create(t.Context(), &unstructured.Unstructured{Object: target}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			f.KeepBusy("a", harness.Annotating)
			f.WaitForParent("a", func(found *unstructured.Unstructured) error {
				status, _, _ := unstructured.NestedString(found.Object, "status", "decorated")
				if found.GetLabels()["decorated"] != "yes" || found.GetAnnotations()["note"] != "ours" || crd.Kind != "" && status != "yes" {
					return fmt.Errorf("it should be decorated, but is %v", found.Object)
				}
				return nil
			})
			f.WaitForFinalizers("a", f.Finalizer())
			f.DeleteParent("a")
			f.WaitUntilParentIsGone("a")
		})
	}
}
