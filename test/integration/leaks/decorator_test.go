// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// The first round allocates what the server keeps for good.
func TestManyDecoratorsLeaveNothingBehind(t *testing.T) {
	const few, many = 20, 100
	before := env.StableGoroutines(t)
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, hook.Answering(t, func(asked hook.DecoratorRequest) object {
		return object{
			"attachments": []object{configMap(&asked.Object)}, "labels": object{"decorated": "yes"}, "status": object{"decorated": true},
			"finalized": asked.Finalizing,
		}
	})))
	var heap [2]harness.Heap
	for round, count := range [...]int{few, many} {
		runDecorators(&f, count, fmt.Sprint(round))
		env.WaitForGoroutines(t, before)
		var err error
		if heap[round], err = env.LiveHeap(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("of controllers in the heap after %d decorators: %d KiB, after another %d: %d KiB", few, heap[0].Controllers>>10, many, heap[1].Controllers>>10)
	if growth := heap[1].Controllers - heap[0].Controllers; growth > many*10<<10 {
		t.Errorf("what controllers have in the heap grew by %d KiB, more than 10 for each", growth>>10)
	}
}

// runDecorators runs many decorators at once, each with a finalizer on its own target. It deletes
// them and the targets, half of the targets first.
func runDecorators(f *harness.Fixture, count int, round string) {
	f.Helper()
	name := func(i int) string { return fmt.Sprintf("t%s-%d", round, i) }
	controllers := make([]string, count)
	for i := range controllers {
		controllers[i] = f.CreateDecorator(harness.Name("test"), f.DecoratorSpec(func(spec *v1alpha1.DecoratorControllerSpec) {
			spec.Resources[0].LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"controller": name(i)}}
			spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy()
		})).Name
		f.CreateParentWith(name(i), object{"labels": object{"controller": name(i)}}, object{"value": "1"})
	}
	for i := range controllers {
		f.WaitForConfigMap(name(i), harness.HasData("value", "1"))
	}
	for i, controller := range controllers {
		if i%2 == 0 {
			f.DeleteParent(name(i))
		}
		if err := env.Metacontroller.MetacontrollerV1alpha1().DecoratorControllers().Delete(f.Context(), controller, metav1.DeleteOptions{}); err != nil {
			f.Fatal(err)
		}
	}
	for i := range controllers {
		if i%2 == 1 {
			f.DeleteParent(name(i))
		}
	}
	for i := range controllers {
		f.WaitUntilParentIsGone(name(i))
	}
}
