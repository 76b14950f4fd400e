// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// The rows of the table of which hook is called, what becomes of the children and
// whether the status is written.
func TestWhichHookIsCalled(t *testing.T) {
	t.Parallel()
	started := func(t *testing.T, changes ...func(*v1alpha1.CompositeControllerSpec)) (*fixture, *script) {
		t.Parallel()
		script := scripted(t, replacing)
		return start(t, script.handle, append(changes, selecting)...), script
	}

	t.Run("alive and selected: sync, children and status", func(t *testing.T) {
		f, _ := started(t, withFinalize)
		f.createParent("a")
		f.waitForSynced("a")
		f.waitForFinalizers("a", f.finalizer())
		if _, paths := f.calls("a"); slices.Contains(paths, "/finalize") {
			t.Errorf("the calls were %v", paths)
		}
	})

	t.Run("alive and no longer selected: finalize, children and status, until finalized", func(t *testing.T) {
		f, script := started(t, withFinalize)
		f.createParent("a", foreign)
		f.waitForSynced("a")
		f.patchParent("a", `{"metadata":{"labels":{"run":"elsewhere"}}}`)
		f.waitForStatus("a", "phase", "finalizing")
		f.waitUntilGone("a")
		f.waitForConfigMap("a-other", isControlled)
		f.waitForFinalizers("a", foreign, f.finalizer())

		script.then(doneOnceTouched)
		f.patchParent("a", `{"metadata":{"annotations":{"touched":"1"}}}`)
		f.waitForFinalizers("a", foreign)
		f.waitForStatus("a", "phase", "done")
		f.waitUntilGone("a-other")
		if !f.exists("a-late") {
			t.Error("what the answer listed that finalized was not created")
		}
		// Once to hold it and once to let it go: the second write is based on the status.
		if writes := f.updatesOf("a"); writes != 2 {
			t.Errorf("the parent was written %d times, want twice", writes)
		}
	})

	t.Run("alive and no longer selected, without a finalize hook: nothing", func(t *testing.T) {
		f, _ := started(t)
		f.createParent("a")
		f.waitForSynced("a")
		f.patchParent("a", `{"metadata":{"labels":{"run":"elsewhere"}},"spec":{"value":"2"}}`)
		f.createParent("b")
		f.waitForSynced("b")
		asked, _ := f.calls("a")
		for _, one := range asked {
			if one.Parent.GetLabels()["run"] != "here" {
				t.Error("a hook was called about a parent that is no longer selected")
			}
		}
		if !f.exists("a") {
			t.Error("the child of a parent that is no longer selected is gone")
		}
	})

	t.Run("being deleted and held by us: finalize, children and status", func(t *testing.T) {
		f, script := started(t, withFinalize)
		f.createParent("a")
		f.waitForSynced("a")
		f.deleteParent("a", metav1.DeletePropagationBackground)
		f.waitForStatus("a", "phase", "finalizing")
		f.waitUntilGone("a")
		f.waitForConfigMap("a-other", isControlled)
		script.then(doneOnceTouched)
		f.patchParent("a", `{"metadata":{"annotations":{"touched":"1"}}}`)
		f.waitForParentGone("a")
	})

	t.Run("being deleted by the garbage collector: finalize and status, no children", func(t *testing.T) {
		f, script := started(t, withFinalize)
		f.createParent("a")
		f.waitForSynced("a")
		// The child that cannot go keeps the garbage collector waiting.
		f.patchConfigMap("a", `{"metadata":{"finalizers":["`+foreign+`"]}}`)
		f.deleteParent("a", metav1.DeletePropagationForeground)
		f.waitForStatus("a", "phase", "finalizing")
		if f.exists("a-other") {
			t.Error("a child was created for a parent that the garbage collector cleans up")
		}
		f.waitForFinalizers("a", f.finalizer(), metav1.FinalizerDeleteDependents)
		script.then(doneOnceTouched)
		f.patchParent("a", `{"metadata":{"annotations":{"touched":"1"}}}`)
		f.waitForFinalizers("a", metav1.FinalizerDeleteDependents)
		f.patchConfigMap("a", `{"metadata":{"finalizers":null}}`)
		env.Within(t, collectionTime, f.parentIsGone("a"))
	})

	t.Run("being deleted, held by others: finalize again and status, no children", func(t *testing.T) {
		f, script := started(t, withFinalize)
		script.then(done)
		f.createParent("a", foreign)
		f.waitForSynced("a")
		f.deleteParent("a", metav1.DeletePropagationBackground)
		f.waitForFinalizers("a", foreign)
		if f.exists("a-late") {
			t.Error("what the answer listed that finalized was created")
		}
		f.waitForStatus("a", "phase", "done") // which only a further call can have led to
		f.patchParent("a", `{"metadata":{"annotations":{"touched":"1"}}}`)
		f.waitForCall("/finalize", "a", hasAnnotation("touched"))
		f.createParent("b")
		f.waitForSynced("b")
		if f.exists("a-late") || !f.exists("a") {
			t.Error("the children of a parent that is no longer ours were changed")
		}
	})

	t.Run("gone: nothing", func(t *testing.T) {
		f, script := started(t, withFinalize)
		script.then(done)
		f.createParent("a")
		f.waitForSynced("a")
		f.deleteParent("a", metav1.DeletePropagationBackground)
		f.waitForParentGone("a")
		before, _ := f.calls("a")
		f.createParent("b")
		f.waitForSynced("b")
		if after, _ := f.calls("a"); len(after) != len(before) {
			t.Errorf("the hook was called %d times about a parent that is gone", len(after)-len(before))
		}
	})
}
