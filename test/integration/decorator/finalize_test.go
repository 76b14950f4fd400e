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

// scripted runs a controller with a script, for targets with the label run: here.
func scripted(t *testing.T, changes ...change) (*fixture, *script) {
	t.Helper()
	t.Parallel()
	script := &script{TB: t}
	return start(t, script.handle, append(changes, selecting)...), script
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
// target.
func TestWhichHookIsCalled(t *testing.T) {
	t.Parallel()

	t.Run("alive and selected: sync", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.createDecorated("a")
		f.WaitForFinalizers("a", f.Finalizer())
		if calls := hook.Requests[request](f, f.Hook, harness.FinalizePath, "a"); len(calls) > 0 {
			t.Errorf("the finalize hook was called %d times", len(calls))
		}
		if first := hook.Requests[request](f, f.Hook, harness.SyncPath, "a")[0].Object; !slices.Equal(first.GetFinalizers(), []string{f.Finalizer()}) {
			t.Errorf("the first call was about a target with the finalizers %v", first.GetFinalizers())
		}
	})

	t.Run("alive and no longer selected: finalize, until finalized", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.createDecorated("a", harness.OtherFinalizer)
		f.PatchParent("a", object{"metadata": object{"labels": object{label: "elsewhere"}}})
		f.waitForLabel("a", "marked", "going")
		f.WaitUntilConfigMapIsGone("a")
		f.waitForAttachment("a-other")
		f.WaitForFinalizers("a", harness.OtherFinalizer, f.Finalizer())

		from := env.AuditEnd(t)
		f.finish("a")
		f.WaitForFinalizers("a", harness.OtherFinalizer)
		f.waitForLabel("a", "marked", "")
		f.waitForAttachment("a-late")
		f.WaitUntilConfigMapIsGone("a-other")
		if diff := cmp.Diff([]string{"update"}, f.ParentRequests(from, "a")); diff != "" {
			t.Errorf("requests to let go of the target (-want +got):\n%s", diff)
		}
	})

	t.Run("selected again: sync, and held again", func(t *testing.T) {
		f, script := scripted(t, withFinalize)
		script.finish()
		f.createDecorated("a")
		f.PatchParent("a", object{"metadata": object{"labels": object{label: "elsewhere"}}})
		f.WaitForFinalizers("a")
		f.PatchParent("a", object{"metadata": object{"labels": object{label: "here"}}})
		f.WaitForFinalizers("a", f.Finalizer())
		f.waitForLabel("a", "marked", "yes")
	})

	t.Run("alive and no longer selected, without a finalize hook: nothing", func(t *testing.T) {
		f, _ := scripted(t)
		f.createDecorated("a")
		f.PatchParent("a", object{"metadata": object{"labels": object{label: "elsewhere", "marked": "else"}}})
		f.createDecorated("b")
		for _, asked := range hook.Requests[request](f, f.Hook, harness.SyncPath, "a") {
			if asked.Object.GetLabels()[label] != "here" {
				t.Error("a hook was called about a target that is no longer selected")
			}
		}
		f.waitForLabel("a", "marked", "else")
		if !f.HasConfigMap("a") {
			t.Error("the attachment of a target that is no longer selected is gone")
		}
	})

	t.Run("being deleted and held by us: finalize, attachments and labels", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.createDecorated("a")
		f.DeleteParent("a")
		f.waitForLabel("a", "marked", "going")
		f.WaitUntilConfigMapIsGone("a")
		f.waitForAttachment("a-other")
		f.finish("a")
		f.WaitUntilParentIsGone("a")
		// Its attachments are deleted with it.
		f.WaitUntilConfigMapIsGone("a-other")
		f.WaitUntilConfigMapIsGone("a-late")
	})

	// Unlike a composite's children, attachments are still written in the sync that removes the
	// finalizer. They are not written later.
	t.Run("being deleted and finalized, held by others: once more, then no attachments", func(t *testing.T) {
		f, script := scripted(t, withFinalize)
		script.finish()
		f.createDecorated("a", harness.OtherFinalizer)
		from := env.AuditEnd(t)
		f.DeleteParent("a")
		f.WaitForFinalizers("a", harness.OtherFinalizer)
		f.waitForLabel("a", "marked", "")
		f.waitForAttachment("a-late")
		f.WaitUntilConfigMapIsGone("a")
		if diff := cmp.Diff([]string{"update"}, f.ParentRequests(from, "a")); diff != "" {
			t.Errorf("requests to let go of the target (-want +got):\n%s", diff)
		}
		f.DeleteConfigMap("a-late")
		f.touch(harness.FinalizePath, "a")
		f.touch(harness.FinalizePath, "a")
		if f.HasConfigMap("a-late") {
			t.Error("an attachment was made for a target that is no longer ours")
		}
		f.PatchParent("a", object{"metadata": object{"finalizers": nil}})
		f.WaitUntilParentIsGone("a")
	})

	t.Run("being deleted by the garbage collector: finalize, no attachments", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.createDecorated("a")
		// The garbage collector waits for the attachment, which has a finalizer.
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": []any{harness.OtherFinalizer}}})
		f.DeleteParent("a", metav1.DeletePropagationForeground)
		f.waitForLabel("a", "marked", "going")
		f.WaitForFinalizers("a", f.Finalizer(), metav1.FinalizerDeleteDependents)
		f.finish("a")
		f.WaitForFinalizers("a", metav1.FinalizerDeleteDependents)
		if f.HasConfigMap("a-other") || f.HasConfigMap("a-late") {
			t.Error("an attachment was made for a target that the garbage collector cleans up")
		}
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": nil}})
		f.WaitUntilParentIsGone("a")
	})

	t.Run("gone: nothing, and the attachments are collected", func(t *testing.T) {
		f, _ := scripted(t)
		f.createDecorated("a")
		f.DeleteParent("a")
		f.WaitUntilParentIsGone("a")
		f.WaitUntilConfigMapIsGone("a")
		before := len(hook.Requests[request](f, f.Hook, harness.SyncPath, "a"))
		f.createDecorated("b")
		if after := len(hook.Requests[request](f, f.Hook, harness.SyncPath, "a")); after != before {
			t.Errorf("the hook was called %d times about a target that is gone", after-before)
		}
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

// The finalizer stays while an attachment fails: the target would not be synced again without it.
func TestATargetThatStaysIsHeldUntilItsAttachmentsAreDone(t *testing.T) {
	t.Parallel()
	var fixed atomic.Bool
	f := start(t, byPath(t, map[string]func(request) object{
		harness.SyncPath: oneConfigMap,
		harness.FinalizePath: func(request) object {
			attachment := hook.ConfigMap("last", object{})
			if !fixed.Load() {
				attachment["kind"] = "Secret" // which is not declared
			}
			return object{"finalized": true, "attachments": []object{attachment}}
		},
	}), withFinalize, selecting)
	f.CreateParentWith("a", selected(), object{})
	f.waitForAttachment("a")
	f.PatchParent("a", object{"metadata": object{"labels": object{label: "elsewhere"}}})
	env.WaitForEvent(t, f.Namespace, "a", "SyncError", `spec.attachments declares no kind "Secret" in apiVersion "v1"`)
	f.WaitForFinalizers("a", f.Finalizer())
	fixed.Store(true)
	f.WaitForFinalizers("a")
	f.waitForAttachment("last")
	f.WaitUntilConfigMapIsGone("a")
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
