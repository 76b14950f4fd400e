// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// foreign is somebody else's finalizer. It keeps an object there.
const foreign = "example.com/keep"

// withFinalize adds a finalize hook at /finalize beside the sync hook.
func withFinalize(spec *v1alpha1.CompositeControllerSpec) {
	url := strings.Replace(*spec.Hooks.Sync.Webhook.URL, "/sync", "/finalize", 1)
	spec.Hooks.Finalize = &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: ptr.To(url)}}
}

// selecting restricts the controller to parents with the label run: here.
func selecting(spec *v1alpha1.CompositeControllerSpec) {
	spec.ParentResource.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"run": "here"}}
}

// finalizer is the one of the fixture's controller.
func (f *fixture) finalizer() string {
	return "metacontroller.io/compositecontroller-" + f.controller.Name
}

// createParent creates a parent with labels run: here and finalizers.
func (f *fixture) createParent(name string, finalizers ...string) {
	f.Helper()
	parent := &unstructured.Unstructured{Object: object{
		"apiVersion": f.parents.GroupVersion().String(), "kind": "Thing", "metadata": object{"name": name}, "spec": object{},
	}}
	parent.SetLabels(map[string]string{"run": "here"})
	parent.SetFinalizers(finalizers)
	if _, err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).Create(f.Context(), parent, metav1.CreateOptions{}); err != nil {
		f.Fatalf("create parent %s: %v", name, err)
	}
}

func (f *fixture) deleteParent(name string, policy metav1.DeletionPropagation) {
	f.Helper()
	err := env.Dynamic.Resource(f.parents).Namespace(f.namespace).Delete(f.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil {
		f.Fatalf("delete parent %s: %v", name, err)
	}
}

// waitForFinalizers waits until a parent has exactly these finalizers.
func (f *fixture) waitForFinalizers(name string, want ...string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		parent, err := f.getParent(ctx, name)
		if err != nil {
			return err
		}
		if got := parent.GetFinalizers(); !slices.Equal(got, want) {
			return fmt.Errorf("the finalizers should be %v, but are %v", want, got)
		}
		return nil
	})
}

func (f *fixture) waitForParentGone(name string) {
	f.Helper()
	env.Eventually(f, f.parentIsGone(name))
}

func (f *fixture) parentIsGone(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		parent, err := f.getParent(ctx, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("parent %s should be gone, but has the finalizers %v", name, parent.GetFinalizers())
	}
}

// waitForStatus waits until a field of a parent's status has a value.
func (f *fixture) waitForStatus(name, field string, want any) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		parent, err := f.getParent(ctx, name)
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedFieldNoCopy(parent.Object, "status", field); got != want {
			return fmt.Errorf("status.%s should be %v, but the status is %v", field, want, parent.Object["status"])
		}
		return nil
	})
}

// patchConfigMap applies a JSON merge patch to a ConfigMap.
func (f *fixture) patchConfigMap(name, patch string) {
	f.Helper()
	_, err := env.Kube.CoreV1().ConfigMaps(f.namespace).Patch(f.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		f.Fatalf("patch ConfigMap %s: %v", name, err)
	}
}

func (f *fixture) exists(name string) bool {
	f.Helper()
	_, err := f.configMap(f.Context(), name)
	if err != nil && !apierrors.IsNotFound(err) {
		f.Fatal(err)
	}
	return err == nil
}

// calls are those of the hook about a parent, oldest first, each with its path.
func (f *fixture) calls(parent string) (asked []request, paths []string) {
	f.Helper()
	for _, call := range f.hook.Calls() {
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

// waitForCall waits until the hook was called at a path about a parent in a state.
func (f *fixture) waitForCall(path, parent string, state func(*unstructured.Unstructured) bool) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		asked, paths := f.calls(parent)
		for i := range asked {
			if paths[i] == path && state(&asked[i].Parent) {
				return nil
			}
		}
		return fmt.Errorf("%s was not called about %s in that state; there were the calls %v", path, parent, paths)
	})
}

// waitForSynced waits until a parent's child is there and its status is written.
func (f *fixture) waitForSynced(name string) {
	f.Helper()
	f.waitForStatus(name, "synced", true)
	if !f.exists(name) {
		f.Errorf("the status of %s was written before its child", name)
	}
}

func hasAnnotation(name string) func(*unstructured.Unstructured) bool {
	return func(parent *unstructured.Unstructured) bool { return parent.GetAnnotations()[name] != "" }
}

func isDeleted(parent *unstructured.Unstructured) bool { return parent.GetDeletionTimestamp() != nil }

// With no finalize hook, sync is called for a parent that is being deleted and that
// somebody else holds. Its children are left alone.
func TestQ35SyncIsCalledForADeletedParentWithoutFinalizeHook(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		return object{
			"status":   object{"deleted": isDeleted(&asked.Parent), "finalizing": asked.Finalizing},
			"children": []object{configMapChild(asked.Parent.GetName(), object{})},
		}
	}))
	f.createParent("a", foreign)
	f.waitForStatus("a", "deleted", false)
	f.deleteParent("a", metav1.DeletePropagationBackground)
	f.waitForStatus("a", "deleted", true)
	f.waitForStatus("a", "finalizing", false)
	f.waitForFinalizers("a", foreign)

	f.deleteConfigMap("a")
	env.Eventually(t, func(context.Context) error {
		asked, _ := f.calls("a")
		if len(asked[len(asked)-1].Children["ConfigMap.v1"]) > 0 {
			return errors.New("the hook has not been shown that the child is gone")
		}
		return nil
	})
	f.createParent("b")
	f.waitForStatus("b", "deleted", false)
	f.waitUntilQuiet("a")
	if f.exists("a") {
		t.Error("a child of a parent that is being deleted was created again")
	}
}

// The finalizer is there before the hook learns of the parent, at the price of one write
// and no read.
func TestParentsAreHeldBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	script := scripted(t, replacing)
	f := start(t, script.handle, withFinalize)
	from, err := env.Host.Audit().Position()
	if err != nil {
		t.Fatal(err)
	}
	f.createParent("a")
	f.waitForSynced("a")
	asked, _ := f.calls("a")
	if got := asked[0].Parent.GetFinalizers(); !slices.Equal(got, []string{f.finalizer()}) {
		t.Errorf("the first call was about a parent with the finalizers %v", got)
	}
	events, err := env.Host.Audit().Find(from, hostcluster.Request{
		User: harness.ServerUser, Group: f.parents.Group, Resource: f.parents.Resource, Namespace: f.namespace, Name: "a",
	})
	if err != nil {
		t.Fatal(err)
	}
	var requests []string
	for _, event := range events {
		requests = append(requests, strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Subresource, " "))
	}
	if diff := cmp.Diff([]string{"update", "update status"}, requests); diff != "" {
		t.Errorf("requests about the parent (-want +got):\n%s", diff)
	}
}

// The way a parent goes whose finalize hook first has its children deleted.
func TestTeardownOnTheWire(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(asked request) object {
		if !asked.Finalizing {
			return object{"children": []object{configMapChild("a", object{}), configMapChild("b", object{})}}
		}
		return object{"finalized": len(asked.Children["ConfigMap.v1"]) == 0}
	}), withFinalize)
	f.createParent("p", foreign)
	f.waitForConfigMap("a", isControlled)
	f.waitForConfigMap("b", isControlled)
	f.waitUntilObserved("p", 1)
	f.deleteParent("p", metav1.DeletePropagationBackground)
	f.waitForFinalizers("p", foreign)
	f.waitForCall("/finalize", "p", func(parent *unstructured.Unstructured) bool {
		return !slices.Contains(parent.GetFinalizers(), f.finalizer())
	})
	f.waitUntilGone("a")
	f.waitUntilGone("b")

	asked, paths := f.calls("p")
	first := slices.Index(paths, "/finalize")
	var seen []string
	for _, one := range asked[first:] {
		held := slices.Contains(one.Parent.GetFinalizers(), f.finalizer())
		line := fmt.Sprintf("%d children, held: %v", len(one.Children["ConfigMap.v1"]), held)
		if len(seen) == 0 || seen[len(seen)-1] != line {
			seen = append(seen, line)
		}
	}
	if slices.Contains(paths[first:], "/sync") {
		t.Errorf("sync was called after finalize: %v", paths)
	}
	// One child may be seen to be gone before the other.
	seen = slices.DeleteFunc(seen, func(line string) bool { return line == "1 children, held: true" })
	if diff := cmp.Diff([]string{"2 children, held: true", "0 children, held: true", "0 children, held: false"}, seen); diff != "" {
		t.Errorf("finalize calls (-want +got):\n%s", diff)
	}
	f.patchParent("p", `{"metadata":{"finalizers":null}}`)
	f.waitForParentGone("p")
}

func TestParentsAreLetGoWhenTheFinalizeHookIsGone(t *testing.T) {
	t.Parallel()
	script := scripted(t, replacing)
	f := start(t, script.handle, withFinalize)
	f.createParent("a", foreign)
	f.waitForFinalizers("a", foreign, f.finalizer())
	f.patchController(object{"spec": object{"hooks": object{"finalize": nil}}})
	f.waitForFinalizers("a", foreign)
}

func TestQ11FinalizedFromSyncHookIsIgnored(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, func(request) object { return object{"finalized": true} }), withFinalize)
	f.createParent("a")
	f.waitUntilObserved("a", 1)
	for _, touch := range []string{"one", "two"} {
		f.patchParent("a", `{"metadata":{"annotations":{"`+touch+`":"yes"}}}`)
		f.waitForCall("/sync", "a", hasAnnotation(touch))
	}
	asked, _ := f.calls("a")
	for _, one := range asked {
		if !slices.Contains(one.Parent.GetFinalizers(), f.finalizer()) {
			t.Error("the finalizer was taken off a parent that is alive")
		}
	}
	if writes := f.updatesOf("a"); writes != 1 {
		t.Errorf("the parent was written %d times, want once", writes)
	}
}

// updatesOf counts how often the server has replaced a parent, its status aside.
func (f *fixture) updatesOf(name string) int {
	f.Helper()
	events, err := env.Host.Audit().Find(0, hostcluster.Request{
		User: harness.ServerUser, Verbs: []string{"update"}, Group: f.parents.Group, Resource: f.parents.Resource, Namespace: f.namespace, Name: name,
	})
	if err != nil {
		f.Fatal(err)
	}
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
	f := start(t, answers(t, oneConfigMap))
	_, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Create(t.Context(), &v1alpha1.CompositeController{
		ObjectMeta: metav1.ObjectMeta{Name: harness.Name("test")},
		Spec:       f.spec(func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Finalize = &v1alpha1.Hook{} }),
	}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.hooks.finalize.webhook: Required value") {
		t.Errorf("error is %v", err)
	}
}

// A finalize hook that does not answer holds the parent, and an event says why.
func TestAFinalizeHookThatFailsHoldsTheParent(t *testing.T) {
	t.Parallel()
	script := scripted(t, done)
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		if call.Path == "/finalize" {
			return hook.Text(500, "not now")
		}
		return script.handle(ctx, call)
	}, withFinalize)
	f.createParent("a")
	f.waitForSynced("a")
	f.deleteParent("a", metav1.DeletePropagationBackground)
	env.WaitForEvent(t, f.namespace, "a", "SyncError", "finalize hook failed")
	f.waitForFinalizers("a", f.finalizer())
	f.hook.Handle(script.handle)
	f.waitForParentGone("a")
}
