// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// withFinalize adds a finalize hook at /finalize beside the sync hook.
func withFinalize(spec *v1alpha1.CompositeControllerSpec) {
	spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
}

// selecting restricts the controller to parents with the label run: here.
func selecting(spec *v1alpha1.CompositeControllerSpec) {
	spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"run": "here"}}
}

// createParent creates a parent with the label run: here and finalizers.
func (f *fixture) createParent(name string, finalizers ...string) {
	f.Helper()
	f.labelled(name, "here", finalizers...)
}

// waitForStatus waits until a field of a parent's status has a value.
func (f *fixture) waitForStatus(name, field string, want any) {
	f.Helper()
	f.WaitForParent(name, func(parent *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedFieldNoCopy(parent.Object, "status", field); got != want {
			return fmt.Errorf("status.%s should be %v, but the status is %v", field, want, parent.Object["status"])
		}
		return nil
	})
}

// calls returns the requests about a parent, oldest first, each with its path.
func (f *fixture) calls(parent string) (asked []request, paths []string) {
	f.Helper()
	for _, call := range f.Hook.Calls() {
		var one request
		if err := call.Decode(&one); err != nil {
			f.Fatal(err)
		}
		if one.Parent.GetName() == parent {
			asked, paths = append(asked, one), append(paths, call.Path)
		}
	}
	return asked, paths
}

// waitForCall waits until a path of the hook was called about a parent in a state.
func (f *fixture) waitForCall(path, parent string, state func(*unstructured.Unstructured) bool) {
	f.Helper()
	harness.WaitForRequest(&f.Fixture, path, parent, func(asked request) bool { return state(&asked.Parent) })
}

// waitForSynced waits until a parent has its child and its status.
func (f *fixture) waitForSynced(name string) {
	f.Helper()
	f.waitForStatus(name, "synced", true)
	if !f.HasConfigMap(name) {
		f.Errorf("the status of %s was written before its child", name)
	}
}

func hasAnnotation(name string) func(*unstructured.Unstructured) bool {
	return func(parent *unstructured.Unstructured) bool { return parent.GetAnnotations()[name] != "" }
}

func isDeleted(parent *unstructured.Unstructured) bool { return parent.GetDeletionTimestamp() != nil }

// Without a finalize hook, the sync hook is called about a parent that is being deleted and has the
// finalizer of another client. Its children are left alone.
func TestQ35SyncIsCalledForADeletedParentWithoutFinalizeHook(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		return object{
			"status":   object{"deleted": isDeleted(&asked.Parent), "finalizing": asked.Finalizing},
			"children": []object{hook.ConfigMap(asked.Parent.GetName(), object{})},
		}
	}))
	f.createParent("a", harness.OtherFinalizer)
	f.waitForStatus("a", "deleted", false)
	f.DeleteParent("a", metav1.DeletePropagationBackground)
	f.waitForStatus("a", "deleted", true)
	f.waitForStatus("a", "finalizing", false)
	f.WaitForFinalizers("a", harness.OtherFinalizer)

	f.DeleteConfigMap("a")
	env.Eventually(t, func(context.Context) error {
		asked, _ := f.calls("a")
		if len(asked[len(asked)-1].Children["ConfigMap.v1"]) > 0 {
			return errors.New("the hook has not been shown that the child is gone")
		}
		return nil
	})
	f.createParent("b")
	f.waitForStatus("b", "deleted", false)
	f.Settle("a")
	if f.HasConfigMap("a") {
		t.Error("a child of a parent that is being deleted was created again")
	}
}

// These are the calls about a deleted parent whose finalize hook first deletes its children. While the hook fails, the
// parent keeps the finalizer, and an event says why.
func TestTeardownOnTheWire(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	fails.Store(true)
	answering := answers(t, func(asked request) object {
		if !asked.Finalizing {
			return object{"children": []object{hook.ConfigMap("a", object{}), hook.ConfigMap("b", object{})}}
		}
		return object{"finalized": len(asked.Children["ConfigMap.v1"]) == 0}
	})
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path == harness.FinalizePath && fails.Load() {
			return hook.Text(http.StatusInternalServerError, "not now")
		}
		return answering(ctx, call)
	}, withFinalize)
	f.createParent("p", harness.OtherFinalizer)
	f.WaitForConfigMap("a", isControlled)
	f.WaitForConfigMap("b", isControlled)
	f.waitUntilObserved("p", 1)
	f.DeleteParent("p", metav1.DeletePropagationBackground)
	env.WaitForEvent(t, f.Namespace, "p", "SyncError", "finalize hook failed")
	f.WaitForFinalizers("p", harness.OtherFinalizer, f.Finalizer())
	fails.Store(false)
	f.WaitForFinalizers("p", harness.OtherFinalizer)
	f.waitForCall("/finalize", "p", func(parent *unstructured.Unstructured) bool {
		return !slices.Contains(parent.GetFinalizers(), f.Finalizer())
	})
	f.WaitUntilConfigMapIsGone("a")
	f.WaitUntilConfigMapIsGone("b")

	asked, paths := f.calls("p")
	first := slices.Index(paths, "/finalize")
	var seen []string
	for _, one := range asked[first:] {
		held := slices.Contains(one.Parent.GetFinalizers(), f.Finalizer())
		line := fmt.Sprintf("%d children, held: %v", len(one.Children["ConfigMap.v1"]), held)
		if len(seen) == 0 || seen[len(seen)-1] != line {
			seen = append(seen, line)
		}
	}
	if slices.Contains(paths[first:], "/sync") {
		t.Errorf("sync was called after finalize: %v", paths)
	}
	// The deletion of one child may be seen before that of the other.
	seen = slices.DeleteFunc(seen, func(line string) bool { return line == "1 children, held: true" })
	if diff := cmp.Diff([]string{"2 children, held: true", "0 children, held: true", "0 children, held: false"}, seen); diff != "" {
		t.Errorf("finalize calls (-want +got):\n%s", diff)
	}
	f.PatchParent("p", object{"metadata": object{"finalizers": nil}})
	f.WaitUntilParentIsGone("p")
}

// The server does not delete what it has adopted and the hook never named, so a hook must not wait for that.
func TestATeardownEndsAlthoughAnAdoptedChildIsKept(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		if !asked.Finalizing {
			return object{"children": []object{}}
		}
		return object{"finalized": len(asked.Children["ConfigMap.v1"]) == 0}
	}), withFinalize, withSelector)
	if _, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "mine"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.CreateParent("p", selectorSpec("1"))
	f.WaitForConfigMap("a", isControlled)
	f.DeleteParent("p", metav1.DeletePropagationBackground)
	f.WaitUntilParentIsGone("p")
}

// The finalizer is added before the first call about a parent, with one write and no read. A sync hook does not get it
// removed.
func TestQ11FinalizedFromSyncHookIsIgnored(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object { return object{"finalized": true} }), withFinalize)
	from := env.AuditEnd(t)
	f.createParent("a")
	f.waitUntilObserved("a", 1)
	for _, touch := range []string{"one", "two"} {
		f.PatchParent("a", object{"metadata": object{"annotations": object{touch: "yes"}}})
		f.waitForCall("/sync", "a", hasAnnotation(touch))
	}
	asked, _ := f.calls("a")
	for _, one := range asked {
		if !slices.Contains(one.Parent.GetFinalizers(), f.Finalizer()) {
			t.Error("the finalizer was taken off a parent that is alive")
		}
	}
	if diff := cmp.Diff([]string{"update", "update status"}, f.ParentRequests(from, "a")); diff != "" {
		t.Errorf("requests about the parent (-want +got):\n%s", diff)
	}
}

// updatesOf counts the server's updates of a parent, without those of its status.
func (f *fixture) updatesOf(name string) int {
	f.Helper()
	events := env.AuditEvents(f, 0, hostcluster.Request{
		Verbs: []string{"update"}, Group: f.Parents.Group, Resource: f.Parents.Resource, Namespace: f.Namespace, Name: name,
	})
	count := 0
	for _, event := range events {
		if event.ObjectRef.Subresource == "" {
			count++
		}
	}
	return count
}

func TestQ12FinalizeHookWithoutWebhookIsRefused(t *testing.T) {
	t.Parallel()
	f := prepare(t, hook.Serve(t, answers(t, oneConfigMap)))
	_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(t.Context(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: harness.Name("test")},
		Spec:       f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Finalize = &v1alpha1.Hook{} }),
	}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.hooks.finalize.webhook: Required value") {
		t.Errorf("error is %v", err)
	}
}
