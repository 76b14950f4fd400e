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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// script is a hook that marks targets and gives them the ConfigMap <target> until they are
// finalized. Then they get <target>-other in its place as long as neither finish was called
// nor the target says so, and afterwards <target>-late, no mark, and are let go.
type script struct {
	testing.TB
	finished atomic.Bool
}

// finish has all targets let go, as soon as they may be.
func (s *script) finish() { s.finished.Store(true) }

// finished is the annotation of a target that is to be let go.
const finished = "finished"

// finish has a target let go by the sync that is shown this change, and not by one that
// happens to be under way, with which the change would be in conflict.
func (f *fixture) finish(target string) {
	f.Helper()
	f.patch(target, object{"metadata": object{"annotations": object{finished: "yes"}}})
}

func (s *script) handle(ctx context.Context, call hook.Call) hook.Answer {
	return answers(s, func(asked request) object {
		name := asked.Object.GetName()
		switch {
		case asked.Finalizing != (call.Path == finalizePath):
			s.Errorf("%s was called with finalizing: %v", call.Path, asked.Finalizing)
			return nil
		case !asked.Finalizing:
			return object{"labels": object{"marked": "yes"}, "attachments": []object{configMap(name, object{})}}
		case !s.finished.Load() && asked.Object.GetAnnotations()[finished] == "":
			return object{"labels": object{"marked": "going"}, "attachments": []object{configMap(name+"-other", object{})}}
		default:
			return object{"labels": object{"marked": nil}, "attachments": []object{configMap(name+"-late", object{})}, "finalized": true}
		}
	})(ctx, call)
}

// scripted runs a controller with a script for targets with the label run: here.
func scripted(t *testing.T, changes ...change) (*fixture, *script) {
	t.Helper()
	t.Parallel()
	script := &script{TB: t}
	return start(t, script.handle, append(changes, selecting)...), script
}

// created makes a target that is selected and waits until it is decorated.
func (f *fixture) created(name string, finalizers ...any) {
	f.Helper()
	f.target(name, selected(finalizers...), object{})
	f.waitForLabel(name, "marked", "yes")
	f.waitForAttachment(name)
}

func (f *fixture) waitForAttachment(name string) *corev1.ConfigMap {
	f.Helper()
	return env.WaitForConfigMap(f, f.namespace, name, func(attachment *corev1.ConfigMap) error {
		if metav1.GetControllerOf(attachment) == nil {
			return errors.New("it has no owner")
		}
		return nil
	})
}

// isThere tells whether a ConfigMap is.
func (f *fixture) isThere(name string) bool {
	f.Helper()
	_, err := env.Kube.CoreV1().ConfigMaps(f.namespace).Get(f.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		f.Fatal(err)
	}
	return err == nil
}

func (f *fixture) deleteBy(policy metav1.DeletionPropagation, name string) {
	f.Helper()
	err := env.Dynamic.Resource(f.targets).Namespace(f.namespace).Delete(f.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil {
		f.Fatal(err)
	}
}

// The rows of the table of which hook is called, what becomes of the attachments and of
// the target.
func TestWhichHookIsCalled(t *testing.T) {
	t.Parallel()

	t.Run("alive and selected: sync", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.created("a")
		f.waitForFinalizers("a", f.finalizer())
		if calls := f.calls(finalizePath, "a"); len(calls) > 0 {
			t.Errorf("the finalize hook was called %d times", len(calls))
		}
		if first := f.calls(syncPath, "a")[0].Object; !slices.Equal(first.GetFinalizers(), []string{f.finalizer()}) {
			t.Errorf("the first call was about a target with the finalizers %v", first.GetFinalizers())
		}
	})

	t.Run("alive and no longer selected: finalize, until finalized", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.created("a", foreign)
		f.patch("a", object{"metadata": object{"labels": object{label: "elsewhere"}}})
		f.waitForLabel("a", "marked", "going")
		env.WaitUntilConfigMapIsGone(t, f.namespace, "a")
		f.waitForAttachment("a-other")
		f.waitForFinalizers("a", foreign, f.finalizer())

		from := env.Now(t)
		f.finish("a")
		f.waitForFinalizers("a", foreign)
		f.waitForLabel("a", "marked", "")
		f.waitForAttachment("a-late")
		env.WaitUntilConfigMapIsGone(t, f.namespace, "a-other")
		if diff := cmp.Diff([]string{"update"}, f.requests(from, "a")); diff != "" {
			t.Errorf("requests to let go of the target (-want +got):\n%s", diff)
		}
	})

	t.Run("selected again: sync, and held again", func(t *testing.T) {
		f, script := scripted(t, withFinalize)
		script.finish()
		f.created("a")
		f.patch("a", object{"metadata": object{"labels": object{label: "elsewhere"}}})
		f.waitForFinalizers("a")
		f.patch("a", object{"metadata": object{"labels": object{label: "here"}}})
		f.waitForFinalizers("a", f.finalizer())
		f.waitForLabel("a", "marked", "yes")
	})

	t.Run("alive and no longer selected, without a finalize hook: nothing", func(t *testing.T) {
		f, _ := scripted(t)
		f.created("a")
		f.patch("a", object{"metadata": object{"labels": object{label: "elsewhere", "marked": "else"}}})
		f.created("b")
		for _, asked := range f.calls(syncPath, "a") {
			if asked.Object.GetLabels()[label] != "here" {
				t.Error("a hook was called about a target that is no longer selected")
			}
		}
		f.waitForLabel("a", "marked", "else")
		if !f.isThere("a") {
			t.Error("the attachment of a target that is no longer selected is gone")
		}
	})

	t.Run("being deleted and held by us: finalize, attachments and labels", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.created("a")
		f.delete("a")
		f.waitForLabel("a", "marked", "going")
		env.WaitUntilConfigMapIsGone(t, f.namespace, "a")
		f.waitForAttachment("a-other")
		f.finish("a")
		f.waitUntilGone("a")
		// Its attachments go with it.
		env.WaitUntilConfigMapIsGone(t, f.namespace, "a-other")
		env.WaitUntilConfigMapIsGone(t, f.namespace, "a-late")
	})

	// Unlike a composite's children, attachments are still seen to in the pass that lets the
	// target go, and never afterwards.
	t.Run("being deleted and finalized, held by others: once more, then no attachments", func(t *testing.T) {
		f, script := scripted(t, withFinalize)
		script.finish()
		f.created("a", foreign)
		from := env.Now(t)
		f.delete("a")
		f.waitForFinalizers("a", foreign)
		f.waitForLabel("a", "marked", "")
		f.waitForAttachment("a-late")
		env.WaitUntilConfigMapIsGone(t, f.namespace, "a")
		if diff := cmp.Diff([]string{"update"}, f.requests(from, "a")); diff != "" {
			t.Errorf("requests to let go of the target (-want +got):\n%s", diff)
		}
		if err := env.Kube.CoreV1().ConfigMaps(f.namespace).Delete(t.Context(), "a-late", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.touch(finalizePath, "a")
		f.touch(finalizePath, "a")
		if f.isThere("a-late") {
			t.Error("an attachment was made for a target that is no longer ours")
		}
		f.patch("a", object{"metadata": object{"finalizers": nil}})
		f.waitUntilGone("a")
	})

	t.Run("being deleted by the garbage collector: finalize, no attachments", func(t *testing.T) {
		f, _ := scripted(t, withFinalize)
		f.created("a")
		// The attachment that cannot go keeps the garbage collector waiting.
		f.patchAttachment("a", `{"metadata":{"finalizers":["`+foreign+`"]}}`)
		f.deleteBy(metav1.DeletePropagationForeground, "a")
		f.waitForLabel("a", "marked", "going")
		f.waitForFinalizers("a", f.finalizer(), metav1.FinalizerDeleteDependents)
		f.finish("a")
		f.waitForFinalizers("a", metav1.FinalizerDeleteDependents)
		if f.isThere("a-other") || f.isThere("a-late") {
			t.Error("an attachment was made for a target that the garbage collector cleans up")
		}
		f.patchAttachment("a", `{"metadata":{"finalizers":null}}`)
		f.waitUntilGone("a")
	})

	t.Run("gone: nothing, and the attachments are collected", func(t *testing.T) {
		f, _ := scripted(t)
		f.created("a")
		f.delete("a")
		f.waitUntilGone("a")
		env.WaitUntilConfigMapIsGone(t, f.namespace, "a")
		before := len(f.calls(syncPath, "a"))
		f.created("b")
		if after := len(f.calls(syncPath, "a")); after != before {
			t.Errorf("the hook was called %d times about a target that is gone", after-before)
		}
	})
}

func (f *fixture) patchAttachment(name, patch string) {
	f.Helper()
	_, err := env.Kube.CoreV1().ConfigMaps(f.namespace).Patch(f.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		f.Fatal(err)
	}
}

// With no finalize hook, sync is called for a target that is being deleted and that
// somebody else holds. Its attachments are left alone, itself is not.
func TestQ35SyncIsCalledForADeletedTargetWithoutFinalizeHook(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		phase := "alive"
		if isDeleted(asked) {
			phase = "deleted"
		}
		return object{"labels": object{"phase": phase}, "attachments": []object{configMap(asked.Object.GetName(), object{})}}
	}))
	f.target("a", object{"finalizers": []any{foreign}}, object{})
	f.waitForLabel("a", "phase", "alive")
	f.waitForAttachment("a")
	f.delete("a")
	f.waitForLabel("a", "phase", "deleted")
	if err := env.Kube.CoreV1().ConfigMaps(f.namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.quiesce("a")
	f.waitForFinalizers("a", foreign)
	if f.isThere("a") {
		t.Error("an attachment of a target that is being deleted was made anew")
	}
	f.patch("a", object{"metadata": object{"finalizers": nil}})
}

func TestQ11FinalizedFromASyncHookIsIgnored(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object { return object{"finalized": true, "labels": object{"marked": "yes"}} }), withFinalize)
	from := env.Now(t)
	f.target("a", nil, object{})
	f.waitForLabel("a", "marked", "yes")
	f.quiesce("a")
	f.waitForFinalizers("a", f.finalizer())
	if diff := cmp.Diff([]string{"update", "update"}, f.requests(from, "a")); diff != "" {
		t.Errorf("requests to hold the target and to mark it (-want +got):\n%s", diff)
	}
}

// A target is not let go as long as there is an attachment that cannot be had, for nobody
// would come back to it.
func TestATargetThatStaysIsHeldUntilItsAttachmentsAreDone(t *testing.T) {
	t.Parallel()
	var fixed atomic.Bool
	f := start(t, byPath(t, map[string]func(request) object{
		syncPath: oneConfigMap,
		finalizePath: func(request) object {
			attachment := configMap("last", object{})
			if !fixed.Load() {
				attachment["kind"] = "Secret" // which is not declared
			}
			return object{"finalized": true, "attachments": []object{attachment}}
		},
	}), withFinalize, selecting)
	f.target("a", selected(), object{})
	f.waitForAttachment("a")
	f.patch("a", object{"metadata": object{"labels": object{label: "elsewhere"}}})
	env.WaitForEvent(t, f.namespace, "a", "SyncError", `spec.attachments declares no kind "Secret" in apiVersion "v1"`)
	f.waitForFinalizers("a", f.finalizer())
	fixed.Store(true)
	f.waitForFinalizers("a")
	f.waitForAttachment("last")
	env.WaitUntilConfigMapIsGone(t, f.namespace, "a")
}

func TestAFinalizeHookThatFailsHoldsTheTarget(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	script.finish()
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path == finalizePath {
			return hook.Text(500, "not now")
		}
		return script.handle(ctx, call)
	}, withFinalize, selecting)
	f.created("a")
	f.delete("a")
	env.WaitForEvent(t, f.namespace, "a", "SyncError", "finalize hook failed")
	f.waitForFinalizers("a", f.finalizer())
	f.hook.Handle(script.handle)
	f.waitUntilGone("a")
}
