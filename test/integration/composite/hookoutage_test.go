// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A hook that is down is called about once for each parent that changes. All parents are synced
// within a minute after it is back.
func TestParentsConvergeAfterAHookWasAway(t *testing.T) {
	const parents = 60
	here := answers(t, oneConfigMap)
	f := start(t, here)
	name := func(i int) string { return fmt.Sprintf("p%d", i) }
	for i := range parents {
		f.CreateParent(name(i), object{"value": "1"})
	}
	waitForValue := func(value string) {
		t.Helper()
		env.Eventually(t, func(ctx context.Context) error {
			configMaps, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			right := 0
			for _, configMap := range configMaps.Items {
				if configMap.Data["value"] == value {
					right++
				}
			}
			if right < parents {
				return fmt.Errorf("%d of %d children have the value %s", right, parents, value)
			}
			return nil
		})
	}
	waitForValue("1")
	waitForCounts(t, f.Controller.Name, parents, 0)

	f.Hook.Handle(func(context.Context, hook.Call) hook.Answer { panic(http.ErrAbortHandler) })
	away, before := time.Now(), len(f.Hook.Calls())
	for _, value := range []string{"2", "3"} {
		for i := range parents {
			f.PatchParent(name(i), object{"spec": object{"value": value}})
		}
		waitForCounts(t, f.Controller.Name, 0, parents)
	}
	f.WaitForCondition("HooksReachable", metav1.ConditionFalse)
	calls := len(f.Hook.Calls()) - before
	// One call for each parent, some before the outage is detected, some probes, and one a second
	// about a parent that has changed.
	if most := parents + 20 + int(time.Since(away).Seconds()); calls > most {
		t.Errorf("the hook was called %d times in %s while it was away, want at most %d", calls, time.Since(away), most)
	}

	f.Hook.Handle(here)
	back := time.Now()
	waitForValue("3")
	waitForCounts(t, f.Controller.Name, parents, 0)
	took := time.Since(back)
	t.Logf("%d calls in the %s that the hook was away, all parents synced %s after it was back", calls, back.Sub(away), took)
	if took > time.Minute {
		t.Error("it took more than a minute until all parents were synced")
	}
	f.WaitForCondition("HooksReachable", metav1.ConditionTrue)
}

// waitForCounts waits until the status of a controller counts so many parents.
func waitForCounts(t *testing.T, controller string, synced, failing int32) {
	t.Helper()
	env.Eventually(t, func(ctx context.Context) error {
		object, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(ctx, controller, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if counts := object.Status.Parents; counts == nil || counts.Synced != synced || counts.Failing != failing {
			return fmt.Errorf("%d parents should be synced and %d failing, but the counts are %v", synced, failing, counts)
		}
		return nil
	})
}
