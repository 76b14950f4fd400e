// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// Which hook is called, what happens to the children, and whether the status is written. A table of package observe has
// all cases.
func TestWhichHookIsCalled(t *testing.T) {
	t.Parallel()
	started := func(t *testing.T, changes ...change) (*fixture, *script) {
		t.Parallel()
		script := scripted(t, replacing)
		return start(t, script.handle, append(changes, selecting)...), script
	}

	t.Run("alive and no longer selected: finalize, children and status, until finalized", func(t *testing.T) {
		f, script := started(t, withFinalize)
		f.createParent("a", harness.OtherFinalizer)
		f.waitForSynced("a")
		f.PatchParent("a", object{"metadata": object{"labels": object{"run": "elsewhere"}}})
		f.waitForStatus("a", "phase", "finalizing")
		f.WaitUntilConfigMapIsGone("a")
		f.WaitForConfigMap("a-other", isControlled)
		f.WaitForFinalizers("a", harness.OtherFinalizer, f.Finalizer())

		script.then(doneOnceTouched(replacing))
		f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "1"}}})
		f.WaitForFinalizers("a", harness.OtherFinalizer)
		f.waitForStatus("a", "phase", "done")
		f.WaitUntilConfigMapIsGone("a-other")
		if !f.HasConfigMap("a-late") {
			t.Error("what the answer listed that finalized was not created")
		}
		// One write adds the finalizer and one removes it. The second is based on the version with
		// the new status.
		if writes := f.updatesOf("a"); writes != 2 {
			t.Errorf("the parent was written %d times, want twice", writes)
		}
		// The server has to see the parents that it no longer selects.
		if selectors := slices.Compact(f.watchedWith()); !slices.Equal(selectors, []string{""}) {
			t.Errorf("parents were watched with the selectors %q", selectors)
		}
	})

	t.Run("being deleted and held by us: finalize, children and status", func(t *testing.T) {
		f, script := started(t, withFinalize)
		f.createParent("a")
		f.waitForSynced("a")
		f.DeleteParent("a", metav1.DeletePropagationBackground)
		f.waitForStatus("a", "phase", "finalizing")
		f.WaitUntilConfigMapIsGone("a")
		f.WaitForConfigMap("a-other", isControlled)
		script.then(doneOnceTouched(replacing))
		f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "1"}}})
		f.WaitUntilParentIsGone("a")
	})

	t.Run("being deleted by the garbage collector: finalize and status, no children", func(t *testing.T) {
		f, script := started(t, withFinalize)
		f.createParent("a")
		f.waitForSynced("a")
		// The garbage collector waits for the child, which has a finalizer.
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": []any{harness.OtherFinalizer}}})
		f.DeleteParent("a", metav1.DeletePropagationForeground)
		f.waitForStatus("a", "phase", "finalizing")
		if f.HasConfigMap("a-other") {
			t.Error("a child was created for a parent that the garbage collector cleans up")
		}
		f.WaitForFinalizers("a", f.Finalizer(), metav1.FinalizerDeleteDependents)
		script.then(doneOnceTouched(replacing))
		f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "1"}}})
		f.WaitForFinalizers("a", metav1.FinalizerDeleteDependents)
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": nil}})
		env.Within(t, collectionTime, f.ParentIsGone("a"))
	})

	t.Run("being deleted, held by others: finalize again and status, no children", func(t *testing.T) {
		f, script := started(t, withFinalize)
		script.then(done)
		f.createParent("a", harness.OtherFinalizer)
		f.waitForSynced("a")
		f.DeleteParent("a", metav1.DeletePropagationBackground)
		f.WaitForFinalizers("a", harness.OtherFinalizer)
		if f.HasConfigMap("a-late") {
			t.Error("what the answer listed that finalized was created")
		}
		f.waitForStatus("a", "phase", "done") // which only a further call can have led to
		f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "1"}}})
		f.waitForCall("/finalize", "a", hasAnnotation("touched"))
		f.createParent("b")
		f.waitForSynced("b")
		if f.HasConfigMap("a-late") || !f.HasConfigMap("a") {
			t.Error("the children of a parent that is no longer ours were changed")
		}
	})
}
