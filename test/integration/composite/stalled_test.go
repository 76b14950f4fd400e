// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// waitUntilStalled waits until an event about parent a and the status of the controller say that
// its syncs wait for something.
func (f *fixture) waitUntilStalled(why string) {
	f.Helper()
	env.WaitForEvent(f, f.Namespace, "a", "SyncStalled", why)
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Failing != 1 || status.LastError == nil || !strings.Contains(status.LastError.Message, why) {
			return fmt.Errorf("one parent should be failing because %s, but the status is %+v, %+v", why, status.Parents, status.LastError)
		}
		return nil
	})
}

// waitUntilNoneFails waits until all parents are synced.
func (f *fixture) waitUntilNoneFails() {
	f.Helper()
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Failing != 0 || status.Parents.Synced != status.Parents.Total {
			return fmt.Errorf("all parents should be synced, but the status is %+v", status.Parents)
		}
		return nil
	})
}

// What keeps a parent from being as its hook wants for over a minute is told.
func TestWaitingHasAnEnd(t *testing.T) {
	t.Parallel()
	t.Run("for a hook that puts calls off", func(t *testing.T) {
		t.Parallel()
		f := start(t, func(context.Context, hook.Call) hook.Answer {
			return hook.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}}
		})
		f.CreateParent("a", object{"value": "1"})
		f.waitUntilStalled("the hook answered 429")
		f.Hook.Handle(answers(t, oneConfigMap))
		f.waitUntilNoneFails()
	})
	t.Run("for a child that does not go", func(t *testing.T) {
		t.Parallel()
		f := start(t, answers(t, oneConfigMap))
		f.CreateParent("a", object{"value": "1"})
		f.WaitForConfigMap("a", harness.Exists)
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": []any{harness.OtherFinalizer}}})
		f.DeleteConfigMap("a")
		f.waitUntilStalled("the deletion of the child ConfigMap " + f.Namespace + "/a should have ended at")
		env.WaitForEvent(t, f.Namespace, "a", "SyncStalled", `its finalizers are ["`+harness.OtherFinalizer+`"]`)
		f.PatchConfigMap("a", object{"metadata": object{"finalizers": nil}})
		f.waitUntilNoneFails()
	})
}
