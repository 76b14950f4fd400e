// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// waitUntilFinalizationIsShown waits until an event about parent a, the column of kubectl, the condition and the last error of
// the controller say what its finalization waits for.
func (f *fixture) waitUntilFinalizationIsShown(why ...string) {
	f.Helper()
	event := env.WaitForEvent(f, f.Namespace, "a", "FinalizeWaiting", "")
	f.waitForSyncedColumn("False")
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Failing != 1 || status.LastError == nil {
			return fmt.Errorf("one parent should be failing, but the status is %+v", status)
		}
		for _, text := range []string{event.Message, status.LastError.Message, messageOf(status, v1alpha1.ConditionParentsSynced)} {
			for _, why := range why {
				if !strings.Contains(text, why) {
					return fmt.Errorf("%q should say %q", text, why)
				}
			}
		}
		return nil
	})
}

// A finalize hook that keeps a parent for ever is told, and what there is to see of the parent.
func TestAFinalizeHookThatNeverFinishesIsTold(t *testing.T) {
	t.Parallel()
	t.Run("with finalized: false and a child that hangs", func(t *testing.T) {
		t.Parallel()
		f := start(t, scripted(t, doneOnceTouched(func(request) object { return object{"finalized": false} })).handle, withFinalize)
		f.createParent("a")
		f.waitForSynced("a")
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": []any{harness.OtherFinalizer}}})
		f.DeleteParent("a", metav1.DeletePropagationBackground)
		f.waitUntilFinalizationIsShown(`the last answer of the hook has "finalized": false`,
			`ConfigMap `+f.Namespace+`/a (is being deleted, and the owners of its finalizers ["`+harness.OtherFinalizer+`"] have to remove them)`)
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": nil}})
		f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "yes"}}})
		f.WaitUntilParentIsGone("a")
		f.waitForSyncedColumn("True")
	})
	t.Run("about a parent whose type is being deleted", func(t *testing.T) {
		t.Parallel()
		f := start(t, scripted(t, doneOnceTouched(func(asked request) object {
			return object{"children": []object{hook.ConfigMap(asked.Parent.GetName(), object{})}}
		})).handle, withFinalize)
		f.createParent("a")
		f.waitForSynced("a")
		f.deleteDefinition()
		f.waitUntilFinalizationIsShown("children that still exist: ConfigMap " + f.Namespace + "/a; its CustomResourceDefinition is being deleted, and also waits")
		f.PatchParent("a", object{"metadata": object{"annotations": object{"touched": "yes"}}})
		f.WaitUntilParentIsGone("a")
		f.waitUntilDefinitionIsGone()
	})
}
