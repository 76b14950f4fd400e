// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// waitForPaused waits until the status counts so many parents as paused and as synced, and its condition Paused has
// the reason; none if the reason is empty.
func (f *fixture) waitForPaused(paused, synced int32, reason string) (since metav1.Time) {
	f.Helper()
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		counts := ptr.Deref(status.Parents, v1alpha1.ParentCounts{})
		condition := ptr.Deref(meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPaused), metav1.Condition{})
		if counts.Paused != paused || counts.Synced != synced || condition.Reason != reason {
			return fmt.Errorf("the counts are %+v and the condition is %+v, want %d paused, %d synced, reason %q", counts, condition, paused, synced, reason)
		}
		since = condition.LastTransitionTime
		return nil
	})
	return since
}

// callsSince returns how many of the calls of the hook from one on are about a parent.
func (f *fixture) callsSince(from int, parent string) (count int) {
	f.Helper()
	for _, call := range f.Hook.Calls()[from:] {
		var asked request
		if err := call.Decode(&asked); err != nil {
			f.Fatal(err)
		}
		if asked.Parent.GetName() == parent {
			count++
		}
	}
	return count
}

// Nothing is done about a parent that its annotation pauses, and the others go on.
func TestAPausedParentIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	for _, parent := range []string{"a", "b"} {
		f.CreateParent(parent, object{"value": "1"})
		f.WaitForConfigMap(parent, harness.HasData("value", "1"))
	}
	f.Settle("a")
	f.Settle("b")
	f.waitForPaused(0, 2, "")

	f.PatchParent("a", object{"metadata": object{"annotations": object{v1alpha1.PausedAnnotation: "true"}}})
	if since := f.waitForPaused(1, 1, "ParentsPaused"); since.IsZero() {
		t.Error("the status does not say since when")
	}
	f.WaitForCondition("ParentsSynced", metav1.ConditionUnknown)
	from, calls := env.AuditEnd(f), len(f.Hook.Calls())
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.DeleteConfigMap("a")
	f.PatchParent("b", object{"spec": object{"value": "2"}})
	f.WaitForConfigMap("b", harness.HasData("value", "2"))
	f.Settle("b")
	if count := f.callsSince(calls, "a"); count != 0 {
		t.Errorf("the hook was called %d times about a parent that is paused", count)
	}
	ours := f.RequestLines(from, hostcluster.Request{Verbs: hostcluster.Writes(), Namespace: f.Namespace})
	if slices.ContainsFunc(ours, func(line string) bool { return strings.HasSuffix(line, "/a") || strings.Contains(line, "/a/") }) {
		t.Errorf("these were written: %q", ours)
	}

	f.PatchParent("a", object{"metadata": object{"annotations": object{v1alpha1.PausedAnnotation: nil}}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.waitForPaused(0, 2, "")
	f.WaitForCondition("ParentsSynced", metav1.ConditionTrue)
}

// A paused controller calls no hook and writes nothing, also across a restart of the server; parents that are being
// deleted wait for it.
func TestAPausedControllerStandsStill(t *testing.T) {
	f := start(t, answers(t, func(asked request) object {
		answer := oneConfigMap(asked)
		if asked.Finalizing {
			return object{"status": answer["status"], "children": []object{}, "finalized": true}
		}
		return answer
	}), func(spec *v1alpha1.CompositeControllerSpec) { spec.Hooks.Finalize = spec.Hooks.Sync })
	f.CreateParent("a", object{"value": "1"})
	f.CreateParent("gone", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.WaitForFinalizers("gone", f.Finalizer())
	f.waitForPaused(0, 2, "")

	f.PatchController(object{"spec": object{"paused": true}})
	f.waitForPaused(2, 0, "Paused")
	from, calls := env.AuditEnd(f), len(f.Hook.Calls())
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.DeleteParent("gone")
	f.CreateParent("new", object{"value": "1"})
	f.waitForPaused(3, 0, "Paused")
	env.StopServer(t)
	env.StartServer(t)
	f.waitForPaused(3, 0, "Paused")
	f.WaitForFinalizers("gone", f.Finalizer())
	if after := len(f.Hook.Calls()); after != calls {
		t.Errorf("the hook was called %d times", after-calls)
	}
	env.ExpectNoRequests(f, from, hostcluster.Request{Verbs: hostcluster.Writes(), Namespace: f.Namespace})

	f.PatchController(object{"spec": object{"paused": nil}})
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.WaitForConfigMap("new", harness.HasData("value", "1"))
	f.WaitUntilParentIsGone("gone")
	f.waitForPaused(0, 2, "")
}
