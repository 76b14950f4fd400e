// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Parents of every type have children, are watched, get the finalizer and are finalized.
func TestParentsOfEverySort(t *testing.T) {
	t.Parallel()
	for name, sort := range harness.ParentTypes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startForParentType(t, sort, func(namespace string, asked request) object {
				if asked.Finalizing {
					return object{"finalized": true}
				}
				child := hook.ConfigMap("child", object{"seen": asked.Parent.GetResourceVersion()})
				child["metadata"].(object)["namespace"] = namespace
				return object{"children": []object{child}}
			})
			created := f.make()
			f.WaitForConfigMap("child", isControlled)
			f.expectFinalizers(created.GetName(), append(created.GetFinalizers(), f.Finalizer())...)

			changed := f.patch(created.GetName(), sort.Changes)
			f.WaitForConfigMap("child", func(child *corev1.ConfigMap) error { // the parent's own controller may have changed it further
				seen := child.Data["seen"]
				if order, err := resourceversion.CompareResourceVersion(seen, changed.GetResourceVersion()); err != nil || order < 0 {
					return fmt.Errorf("the child is of version %s of the parent, want %s: %v", seen, changed.GetResourceVersion(), err)
				}
				return nil
			})
			f.DeleteConfigMap("child")
			f.WaitForConfigMap("child", isControlled)

			if err := f.client().Delete(t.Context(), created.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			env.Eventually(t, func(ctx context.Context) error {
				left, err := f.client().Get(ctx, created.GetName(), metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return fmt.Errorf("the parent should be gone, but is %v: %w", left, err)
			})
			if _, paths := f.calls(created.GetName()); paths[len(paths)-1] != "/finalize" {
				t.Errorf("the calls were %v", paths)
			}
		})
	}
}

// A built-in parent has another writer of its status. An answer without a status does not replace
// it.
func TestStatusOfABuiltInParent(t *testing.T) {
	t.Parallel()
	sort := harness.ParentTypes()["a built-in type with a status"]
	f := startForParentType(t, sort, func(_ string, asked request) object {
		if asked.Finalizing {
			return object{"finalized": true}
		}
		if replicas, _, _ := unstructured.NestedInt64(asked.Parent.Object, "spec", "replicas"); replicas == 3 {
			return object{"status": object{"replicas": 2}}
		}
		return object{}
	})
	created := f.make()
	name := created.GetName()
	_, err := f.client().Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":{"replicas":7}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	f.waitForCall("/sync", name, func(parent *unstructured.Unstructured) bool {
		replicas, _, _ := unstructured.NestedInt64(parent.Object, "status", "replicas")
		return replicas == 7
	})
	generation := f.patch(name, `{"spec":{"paused":true}}`).GetGeneration()
	f.waitForCall("/sync", name, func(parent *unstructured.Unstructured) bool { return parent.GetGeneration() == generation })
	f.patch(name, `{"metadata":{"annotations":{"touched":"1"}}}`)
	f.waitForCall("/sync", name, hasAnnotation("touched")) // the sync before is over then
	if replicas := f.statusOf(name)["replicas"]; replicas != int64(7) {
		t.Errorf("status.replicas is %v after answers without a status, want 7", replicas)
	}

	generation = f.patch(name, sort.Changes).GetGeneration()
	env.Eventually(t, func(context.Context) error {
		if status := f.statusOf(name); status["replicas"] != int64(2) || status["observedGeneration"] != generation {
			return fmt.Errorf("the status should be the answered one, but is %v", status)
		}
		return nil
	})
	if err := f.client().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// parentTypeFixture is a fixture for parents of one ParentType.
type parentTypeFixture struct {
	*fixture
	harness.ParentType
}

// startForParentType runs a controller with a sync and a finalize hook, for parents of the type
// with a label of the test's own. Answer is given the namespace of the children.
func startForParentType(t *testing.T, of harness.ParentType, answer func(namespace string, asked request) object) *parentTypeFixture {
	namespace := env.Namespace(t)
	f := &parentTypeFixture{ParentType: of, fixture: &fixture{harness.Fixture{
		T:         t,
		Env:       env,
		Parents:   of.Resource,
		Hook:      hook.Serve(t, answers(t, func(asked request) object { return answer(namespace, asked) })),
		Namespace: namespace,
	}}}
	f.RunComposite(f.CompositeSpec(withFinalize, func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"test": namespace}}
	}))
	return f
}

func (f *parentTypeFixture) client() dynamic.ResourceInterface {
	return env.Objects(f.ParentType, f.Namespace)
}

// make creates a parent.
func (f *parentTypeFixture) make() *unstructured.Unstructured {
	f.Helper()
	return env.Make(f, f.ParentType, f.Namespace, map[string]string{"test": f.Namespace})
}

func (f *parentTypeFixture) patch(name, patch string) *unstructured.Unstructured {
	f.Helper()
	patched, err := f.client().Patch(f.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return patched
}

func (f *parentTypeFixture) get(name string) *unstructured.Unstructured {
	f.Helper()
	got, err := f.client().Get(f.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	return got
}

func (f *parentTypeFixture) statusOf(name string) object {
	f.Helper()
	status, _, _ := unstructured.NestedMap(f.get(name).Object, "status")
	return status
}

func (f *parentTypeFixture) expectFinalizers(name string, want ...string) {
	f.Helper()
	if got := f.get(name).GetFinalizers(); fmt.Sprint(got) != fmt.Sprint(want) {
		f.Errorf("the finalizers are %v, want %v", got, want)
	}
}
