// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// finalizing answers as many children as the parent wants, and is done when none is left.
func finalizing(t *testing.T) hook.Handler {
	return hook.Answering(t, func(asked hook.CompositeRequest) object {
		children := []object{}
		if wants, _, _ := unstructured.NestedBool(asked.Parent.Object, "spec", "child"); wants && !asked.Finalizing {
			children = append(children, hook.ConfigMap(asked.Parent.GetName(), object{"value": "1"}))
		}
		return object{"finalized": len(asked.Children["ConfigMap.v1"]) == 0, "children": children, "status": object{"leaving": asked.Finalizing}}
	})
}

// A finalize hook is added, which puts a finalizer on each parent. When one is deleted, the hook is
// called, and the finalizer goes when the children have gone.
func TestTheWritesAboutFinalizersAreThePreviewedOnes(t *testing.T) {
	t.Parallel()
	f := prepare(t, finalizing(t), finalizing(t))
	spec := f.CompositeSpec()
	f.RunComposite(spec)
	f.CreateParent("a", object{"child": true})
	f.CreateParent("b", object{})
	f.WaitForConfigMap("a", harness.Exists)
	f.Settle("a")
	f.Settle("b")

	from := env.AuditEnd(t)
	spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
	review := v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Parents: &v1alpha1.SyncReviewParents{Namespace: f.Namespace}, Candidate: raw(t, spec)}
	want := []string{"update Thing a", "update Thing b"}
	f.expectRequests("with a finalize hook", want, review)
	review.Until = v1alpha1.SyncReviewUntilDryRun
	f.expectRequests("with a finalize hook, in a dry run", want, review)
	f.expectNothing(from, "a", "b")
	f.PatchController(object{"spec": object{"hooks": object{"finalize": object{"webhook": object{"url": f.Hook.URL(harness.FinalizePath)}}}}})
	f.WaitForFinalizers("a", f.Finalizer())
	f.WaitForFinalizers("b", f.Finalizer())
	f.expectWrites(from, want, "a", "b")

	for parent, want := range map[string][]string{"a": {"delete ConfigMap a", "update status Thing a"}, "b": {"update Thing b"}} {
		f.pause(parent, true)
		from = env.AuditEnd(t)
		f.DeleteParent(parent)
		f.WaitForParent(parent, isLeaving)
		f.eventually("of a parent that is deleted", want, f.of(parent))
		dryRun := f.of(parent)
		dryRun.Until = v1alpha1.SyncReviewUntilDryRun
		f.expectRequests("of a parent that is deleted, in a dry run", want, dryRun)
		f.expectNothing(from)
		f.pause(parent, false)
		f.WaitUntilParentIsGone(parent)
		if parent == "a" { // a later sync finds that the child has gone
			want = append(slices.Clone(want), "update Thing a")
			slices.Sort(want)
		}
		f.expectWrites(from, want)
	}
}

// The controller no longer has a finalize hook, or no longer selects a parent.
func TestTheWritesOfAParentThatIsLetGoAreThePreviewedOnes(t *testing.T) {
	t.Parallel()
	f := prepare(t, finalizing(t), finalizing(t))
	spec := f.CompositeSpec()
	spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	spec.Hooks.Finalize = harness.HookBeside(spec.Hooks.Sync, harness.FinalizePath)
	f.RunComposite(spec)
	for _, name := range []string{"a", "b"} {
		f.CreateParentWith(name, object{"labels": object{"app": "a"}}, object{})
		f.WaitForFinalizers(name, f.Finalizer())
		f.Settle(name)
	}
	f.pause("a", true)
	f.PatchParent("a", object{"metadata": object{"labels": object{"app": "b"}}})
	from := env.AuditEnd(t)
	f.eventually("no longer selected", []string{"update Thing a", "update status Thing a"}, f.of("a"))
	f.expectNothing(from)
	f.pause("a", false)
	f.WaitForFinalizers("a")
	f.expectWrites(from, []string{"update Thing a", "update status Thing a"})
	env.WaitForEvent(t, f.Namespace, "a", "NoLongerSelected", "") // which is written later than the parent

	from = env.AuditEnd(t)
	spec.Hooks.Finalize = nil
	review := f.of("b")
	review.Candidate = raw(t, spec)
	want := []string{"update Thing b"}
	f.expectRequests("without a finalize hook", want, review)
	f.expectNothing(from, "b")
	f.PatchController(object{"spec": object{"hooks": object{"finalize": nil}}})
	f.WaitForFinalizers("b")
	f.expectWrites(from, want)
}
