// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// script is a hook. A sync call answers the label marked: yes and the ConfigMap <target>. A
// finalize call answers marked: going and <target>-other. After finish was called, of the script or
// for the target, it answers finalized, no label, and <target>-late.
type script struct {
	testing.TB
	finished atomic.Bool
}

// finish makes finalize calls about all targets answer finalized.
func (s *script) finish() { s.finished.Store(true) }

// finished is the annotation of a target about which finalize calls answer finalized.
const finished = "finished"

// finish makes finalize calls about a target answer finalized from this change on. A sync that is
// under way does not, since its write would be in conflict with the change.
func (f *fixture) finish(target string) {
	f.Helper()
	f.PatchParent(target, object{"metadata": object{"annotations": object{finished: "yes"}}})
}

func (s *script) handle(ctx context.Context, call hook.Call) hook.Answer {
	return answers(s, func(asked request) object {
		name := asked.Object.GetName()
		switch {
		case asked.Finalizing != (call.Path == harness.FinalizePath):
			s.Errorf("%s was called with finalizing: %v", call.Path, asked.Finalizing)
			return nil
		case !asked.Finalizing:
			return object{"labels": object{"marked": "yes"}, "attachments": []object{hook.ConfigMap(name, object{})}}
		case !s.finished.Load() && asked.Object.GetAnnotations()[finished] == "":
			return object{"labels": object{"marked": "going"}, "attachments": []object{hook.ConfigMap(name+"-other", object{})}}
		default:
			return object{"labels": object{"marked": nil}, "attachments": []object{hook.ConfigMap(name+"-late", object{})}, "finalized": true}
		}
	})(ctx, call)
}

// createDecorated creates a target that is selected, and waits until it is decorated.
func (f *fixture) createDecorated(name string, finalizers ...any) {
	f.Helper()
	f.CreateParentWith(name, selected(finalizers...), object{})
	f.waitForLabel(name, "marked", "yes")
	f.waitForAttachment(name)
}

func (f *fixture) waitForAttachment(name string) *corev1.ConfigMap {
	f.Helper()
	return f.WaitForConfigMap(name, func(attachment *corev1.ConfigMap) error {
		if metav1.GetControllerOf(attachment) == nil {
			return errors.New("it has no owner")
		}
		return nil
	})
}

// Each case of a target: which hook is called, and what happens to the attachments and to the
// target. Each has a target of its own.
func TestWhichHookIsCalled(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	all := start(t, script.handle, withFinalize, selecting)
	fixtureOf := func(t *testing.T) *fixture {
		t.Parallel()
		f := *all
		f.T = t
		return &f
	}
	unselect := object{"metadata": object{"labels": object{label: "elsewhere"}}}

	t.Run("alive and selected: sync", func(t *testing.T) {
		f := fixtureOf(t)
		f.createDecorated("alive")
		f.WaitForFinalizers("alive", f.Finalizer())
		if calls := hook.Requests[request](f, f.Hook, harness.FinalizePath, "alive"); len(calls) > 0 {
			t.Errorf("the finalize hook was called %d times", len(calls))
		}
		if first := hook.Requests[request](f, f.Hook, harness.SyncPath, "alive")[0].Object; !slices.Equal(first.GetFinalizers(), []string{f.Finalizer()}) {
			t.Errorf("the first call was about a target with the finalizers %v", first.GetFinalizers())
		}
	})

	t.Run("alive and no longer selected: finalize, until finalized; selected again: sync, and held again", func(t *testing.T) {
		f := fixtureOf(t)
		f.createDecorated("unselected", harness.OtherFinalizer)
		f.PatchParent("unselected", unselect)
		f.waitForLabel("unselected", "marked", "going")
		f.WaitUntilConfigMapIsGone("unselected")
		f.waitForAttachment("unselected-other")
		f.WaitForFinalizers("unselected", harness.OtherFinalizer, f.Finalizer())

		from := env.AuditEnd(t)
		f.finish("unselected")
		f.WaitForFinalizers("unselected", harness.OtherFinalizer)
		f.waitForLabel("unselected", "marked", "")
		f.waitForAttachment("unselected-late")
		f.WaitUntilConfigMapIsGone("unselected-other")
		if diff := cmp.Diff([]string{"update"}, f.ParentRequests(from, "unselected")); diff != "" {
			t.Errorf("requests to let go of the target (-want +got):\n%s", diff)
		}

		f.PatchParent("unselected", object{"metadata": object{"labels": object{label: "here"}}})
		f.WaitForFinalizers("unselected", harness.OtherFinalizer, f.Finalizer())
		f.waitForLabel("unselected", "marked", "yes")
	})

	t.Run("being deleted and held by us: finalize, attachments and labels", func(t *testing.T) {
		f := fixtureOf(t)
		f.createDecorated("deleted")
		f.DeleteParent("deleted")
		f.waitForLabel("deleted", "marked", "going")
		f.WaitUntilConfigMapIsGone("deleted")
		f.waitForAttachment("deleted-other")
		f.finish("deleted")
		f.WaitUntilParentIsGone("deleted")
		// Its attachments are deleted with it.
		f.WaitUntilConfigMapIsGone("deleted-other")
		f.WaitUntilConfigMapIsGone("deleted-late")
	})

	// Unlike a composite's children, attachments are still written in the sync that removes the
	// finalizer. They are not written later.
	t.Run("being deleted and finalized, held by others: once more, then no attachments", func(t *testing.T) {
		f := fixtureOf(t)
		f.createDecorated("held", harness.OtherFinalizer)
		f.finish("held")
		from := env.AuditEnd(t)
		f.DeleteParent("held")
		f.WaitForFinalizers("held", harness.OtherFinalizer)
		f.waitForLabel("held", "marked", "")
		f.waitForAttachment("held-late")
		f.WaitUntilConfigMapIsGone("held")
		if diff := cmp.Diff([]string{"update"}, f.ParentRequests(from, "held")); diff != "" {
			t.Errorf("requests to let go of the target (-want +got):\n%s", diff)
		}
		f.DeleteConfigMap("held-late")
		f.touch(harness.FinalizePath, "held")
		f.touch(harness.FinalizePath, "held")
		if f.HasConfigMap("held-late") {
			t.Error("an attachment was made for a target that is no longer ours")
		}
		f.PatchParent("held", object{"metadata": object{"finalizers": nil}})
		f.WaitUntilParentIsGone("held")
	})

	t.Run("being deleted by the garbage collector: finalize, no attachments", func(t *testing.T) {
		f := fixtureOf(t)
		f.createDecorated("collected")
		// The garbage collector waits for the attachment, which has a finalizer.
		f.PatchConfigMap("collected", object{"metadata": object{"finalizers": []any{harness.OtherFinalizer}}})
		f.DeleteParent("collected", metav1.DeletePropagationForeground)
		f.waitForLabel("collected", "marked", "going")
		f.WaitForFinalizers("collected", f.Finalizer(), metav1.FinalizerDeleteDependents)
		f.finish("collected")
		f.WaitForFinalizers("collected", metav1.FinalizerDeleteDependents)
		if f.HasConfigMap("collected-other") || f.HasConfigMap("collected-late") {
			t.Error("an attachment was made for a target that the garbage collector cleans up")
		}
		f.PatchConfigMap("collected", object{"metadata": object{"finalizers": nil}})
		f.WaitUntilParentIsGone("collected")
	})
}

// Without a finalize hook, the sync hook is called about a target that is being deleted and has the
// finalizer of another client. Its attachments are left alone. The target itself is written.
func TestQ35SyncIsCalledForADeletedTargetWithoutFinalizeHook(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		phase := "alive"
		if isDeleted(asked) {
			phase = "deleted"
		}
		return object{"labels": object{"phase": phase}, "attachments": []object{hook.ConfigMap(asked.Object.GetName(), object{})}}
	}))
	f.CreateParentWith("a", object{"finalizers": []any{harness.OtherFinalizer}}, object{})
	f.waitForLabel("a", "phase", "alive")
	f.waitForAttachment("a")
	f.DeleteParent("a")
	f.waitForLabel("a", "phase", "deleted")
	f.DeleteConfigMap("a")
	f.Settle("a")
	f.WaitForFinalizers("a", harness.OtherFinalizer)
	if f.HasConfigMap("a") {
		t.Error("an attachment of a target that is being deleted was made anew")
	}
	f.PatchParent("a", object{"metadata": object{"finalizers": nil}})
}

func TestQ11FinalizedFromASyncHookIsIgnored(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object { return object{"finalized": true, "labels": object{"marked": "yes"}} }), withFinalize)
	from := env.AuditEnd(t)
	f.CreateParent("a", object{})
	f.waitForLabel("a", "marked", "yes")
	f.Settle("a")
	f.WaitForFinalizers("a", f.Finalizer())
	if diff := cmp.Diff([]string{"update", "update"}, f.ParentRequests(from, "a")); diff != "" {
		t.Errorf("requests to hold the target and to mark it (-want +got):\n%s", diff)
	}
}

func TestAFinalizeHookThatFailsHoldsTheTarget(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	script.finish()
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path == harness.FinalizePath {
			return hook.Text(500, "not now")
		}
		return script.handle(ctx, call)
	}, withFinalize, selecting)
	f.createDecorated("a")
	f.DeleteParent("a")
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", "finalize hook failed")
	f.WaitForFinalizers("a", f.Finalizer())
	f.Hook.Handle(script.handle)
	f.WaitUntilParentIsGone("a")
}
