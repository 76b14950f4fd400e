// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

func TestADeletedControllerLeavesNothingBehind(t *testing.T) {
	before := env.StableGoroutines(t)
	children := env.Install(t, harness.CRD{Kind: "Part"})
	related := env.Install(t, harness.CRD{Kind: "Detail"})
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, hook.Answering(t, func(asked hook.CompositeRequest) object {
		if asked.Children == nil { // it is the customize hook
			return object{"relatedResources": []object{{"apiVersion": related.GroupVersion().String(), "resource": related.Resource, "labelSelector": object{}}}}
		}
		return object{"children": []object{{"apiVersion": children.GroupVersion().String(), "kind": "Part", "metadata": object{"name": asked.Parent.GetName()}}}}
	})))
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = []v1alpha1.CompositeControllerChildResourceRule{harness.ChildRule(children.GroupVersion().String(), children.Resource, v1alpha1.ChildUpdateInPlace)}
		spec.Hooks.Customize = spec.Hooks.Sync.DeepCopy()
		spec.ResyncPeriodSeconds = ptr.To(int32(1))
	}))
	const parents = 10
	for i := range parents {
		f.CreateParent(fmt.Sprintf("p%d", i), object{})
	}
	env.Eventually(t, func(ctx context.Context) error {
		made, err := env.Dynamic.Resource(children).Namespace(f.Namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(made.Items) != parents {
			err = fmt.Errorf("there are %d children, want %d", len(made.Items), parents)
		}
		return err
	})
	if f.Hook.Connections() == 0 {
		t.Error("no connection to the hook is kept")
	}
	env.WaitForWatches(t, f.Parents, 1)
	env.WaitForWatches(t, children, 1)
	env.WaitForWatches(t, related, 1)

	env.Kubectl(t, "delete", "cc", f.Controller.Name)
	env.Eventually(t, func(context.Context) error {
		if open := f.Hook.Connections(); open > 0 {
			return fmt.Errorf("%d connections to the hook are open", open)
		}
		return nil
	})
	env.WaitForWatches(t, f.Parents, 0)
	env.WaitForWatches(t, children, 0)
	env.WaitForWatches(t, related, 0)
	env.WaitForGoroutines(t, before)
}

// Memory is measured after a first round, which allocates all that is kept for good. The whole heap
// continues to grow for a while: the API's watch cache keeps each change for a minute, etcd keeps
// its last thousands of writes, and client-go the last events. The part of controllers must not
// grow.
func TestManyControllersLeaveMemoryWhereItWas(t *testing.T) {
	const controllers = 80
	before := env.StableGoroutines(t)
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, hook.Answering(t, func(asked hook.CompositeRequest) object {
		return object{"children": []object{configMap(&asked.Parent)}}
	})))
	var heap [2]harness.Heap
	for round := range heap {
		runComposites(&f, controllers, fmt.Sprint(round))
		env.WaitForGoroutines(t, before)
		var err error
		if heap[round], err = env.LiveHeap(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("heap after %d controllers: %d KiB, %d of controllers; after another %d: %d KiB, %d of controllers",
		controllers, heap[0].All>>10, heap[0].Controllers>>10, controllers, heap[1].All>>10, heap[1].Controllers>>10)
	if growth := heap[1].Controllers - heap[0].Controllers; growth > controllers*10<<10 {
		t.Errorf("what controllers have in the heap grew by %d KiB, more than 10 for each", growth>>10)
	}
	if growth := heap[1].All - heap[0].All; growth > controllers*50<<10 {
		t.Errorf("the heap grew by %d KiB, more than 50 for each controller", growth>>10)
	}
}

// runComposites runs many controllers at once, each with its own parent, and deletes them.
func runComposites(f *harness.Fixture, controllers int, round string) {
	f.Helper()
	name := func(i int) string { return fmt.Sprintf("p%s-%d", round, i) }
	for i := range controllers {
		controller := f.CreateComposite(harness.Name("test"), f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"controller": name(i)}}
		}))
		f.CreateParent(name(i), object{"value": "1"})
		f.PatchParent(name(i), object{"metadata": object{"labels": object{"controller": name(i), "of": controller.Name}}})
	}
	for i := range controllers {
		f.WaitForConfigMap(name(i), harness.HasData("value", "1"))
	}
	parents, err := f.ParentClient().List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for _, parent := range parents.Items {
		err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Delete(f.Context(), parent.GetLabels()["of"], metav1.DeleteOptions{})
		if err != nil {
			f.Fatal(err)
		}
	}
	if err := f.ParentClient().DeleteCollection(f.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		f.Fatal(err)
	}
}
