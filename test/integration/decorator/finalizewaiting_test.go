// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// A finalize hook that keeps a target for ever is told, with the attachments that are there.
func TestAFinalizeHookThatNeverFinishesIsTold(t *testing.T) {
	t.Parallel()
	script := &script{TB: t}
	f := start(t, script.handle, withFinalize, selecting)
	f.createDecorated("a")
	f.DeleteParent("a")
	event := env.WaitForEvent(t, f.Namespace, "a", "FinalizeWaiting", `the last answer of the hook has no field "finalized"; `+
		`the cluster cannot delete this object until the hook returns "finalized": true; children that still exist: ConfigMap `+
		f.Namespace+"/a-other")
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		synced := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced)
		if synced == nil || synced.Status != metav1.ConditionFalse || status.LastError == nil {
			return errors.New("the status does not say that a target fails")
		}
		if want := "Thing " + f.Namespace + "/a: " + event.Message; synced.Message != want || status.LastError.Message != event.Message {
			return fmt.Errorf("it says %q and %q, want %q", synced.Message, status.LastError.Message, want)
		}
		return nil
	})
	f.finish("a")
	f.WaitUntilParentIsGone("a")
	f.WaitForCondition(v1alpha1.ConditionParentsSynced, metav1.ConditionTrue)
}
