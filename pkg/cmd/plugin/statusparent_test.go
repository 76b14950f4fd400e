// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// Only what the last sync did is shown, and an error once: the row of the controller has it, or that of the child.
func TestFailedStepsInATree(t *testing.T) {
	now := metav1.NewMicroTime(time.Now())
	steps := []v1alpha1.SyncStep{
		{Operation: "create", Kind: "Secret", Name: "a", Result: v1alpha1.SyncStepWritten},
		{Operation: "update", Kind: "Deployment", Name: "a", Result: v1alpha1.SyncStepFailed, Error: "field is immutable"},
	}
	for name, test := range map[string]struct {
		last    metav1.MicroTime
		message string
		want    string
	}{
		"an error that the controller's row has": {now, "can't update Deployment a: field is immutable", "update failed"},
		"another one":                            {now, "an earlier step failed", "update failed: field is immutable"},
		"steps of an earlier sync":               {metav1.NewMicroTime(now.Add(time.Second)), "hook is down", ""},
	} {
		t.Run(name, func(t *testing.T) {
			row := &v1alpha1.Sync{Status: v1alpha1.SyncStatus{
				Message: test.message, LastSyncTime: &test.last, LastSteps: &v1alpha1.SyncSteps{Time: now, Steps: steps},
			}}
			got := ""
			for _, step := range failedSteps(row) {
				got += (&status{output: output{color: "never"}}).failure(row, &step)
			}
			if got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhyAControllerDoesNotRun(t *testing.T) {
	const ready, synced = v1alpha1.ConditionReady, v1alpha1.ConditionParentsSynced
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		want       string
	}{
		"no status": {nil, "it does not run: the server has not seen it yet"},
		"not seen": {
			[]metav1.Condition{v1alpha1.NewCondition(ready, v1alpha1.ReasonNotObservedYet, "m", 1)},
			"it does not run: the server has not seen it yet",
		},
		"a type is unknown": {
			[]metav1.Condition{
				v1alpha1.NewCondition(ready, v1alpha1.ReasonUnknownType, "no pods", 1),
				v1alpha1.NewCondition(synced, v1alpha1.ReasonNotRunning, "", 1),
			}, "it does not run: UnknownType: no pods",
		},
		"an earlier spec runs": {
			[]metav1.Condition{
				v1alpha1.NewCondition(ready, v1alpha1.ReasonUnknownType, "no pods", 1),
				v1alpha1.NewCondition(synced, v1alpha1.ReasonAllSynced, "", 1),
			}, "",
		},
		"its hook is down": {
			[]metav1.Condition{
				v1alpha1.NewCondition(ready, v1alpha1.ReasonHookDown, "", 1),
				v1alpha1.NewCondition(synced, v1alpha1.ReasonParentsFailing, "", 1),
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			one := &v1alpha1.CompositeController{Status: v1alpha1.ControllerStatus{Conditions: test.conditions}}
			if got := whyNotRunning(&lookup.Controller{Kind: lookup.Composite, Object: one}); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
		})
	}
}
