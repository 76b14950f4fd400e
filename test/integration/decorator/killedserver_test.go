// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// A killed server finalizes each target after its restart, whether the target was deleted before or
// after the server was killed.
func TestAKilledServerGoesOnFinalizing(t *testing.T) {
	const targets = 6
	var finish atomic.Bool
	f := start(t, answers(t, func(asked request) object {
		if asked.Finalizing && finish.Load() {
			return object{"finalized": true}
		}
		answer := oneConfigMap(asked)
		answer["labels"] = object{"decorated": "yes"}
		return answer
	}), func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Hooks.Finalize = spec.Hooks.Sync.DeepCopy()
	})
	name := func(i int) string { return fmt.Sprintf("t%d", i) }
	for i := range targets {
		f.CreateParent(name(i), object{"value": "1"})
	}
	for i := range targets {
		f.WaitForConfigMap(name(i), harness.HasData("value", "1"))
	}
	for i := range targets {
		if i == targets/2 {
			env.KillServer(t)
			finish.Store(true)
		}
		f.DeleteParent(name(i))
	}
	for i := range targets { // the finalizers stay meanwhile
		f.WaitForParent(name(i), func(target *unstructured.Unstructured) error {
			if len(target.GetFinalizers()) != 1 || target.GetDeletionTimestamp() == nil {
				return fmt.Errorf("it should wait for its finalizer: %v", target.Object["metadata"])
			}
			return nil
		})
	}
	env.StartServer(t)
	for i := range targets {
		f.WaitUntilParentIsGone(name(i))
		f.WaitUntilConfigMapIsGone(name(i))
	}
	finalized := map[string]bool{}
	for _, call := range f.Hook.Calls() {
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Fatal(err)
		}
		if asked.Finalizing {
			finalized[asked.Object.GetName()] = true
		}
	}
	if len(finalized) != targets {
		t.Errorf("%d of %d targets were finalized", len(finalized), targets)
	}
}
