// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// What tools that wait make of each state of a controller: Flux, Helm and kpt use kstatus, and Argo CD runs the script
// of docs/gitops.md.
func TestWhatToolsMakeOfTheStatesOfAController(t *testing.T) {
	fails := &report.ParentError{Parent: object.Key{}, Message: "the hook crashed"}
	ran := func(generation int64) v1alpha1.ControllerStatus {
		return report.Status(v1alpha1.ControllerStatus{}, generation, &report.Health{Total: 2, Synced: 2, HookCalled: true}, nil)
	}
	of := func(health *report.Health, problem *report.Problem) v1alpha1.ControllerStatus {
		return report.Status(ran(1), 2, health, problem)
	}
	problem := func(reason string) *report.Problem { return &report.Problem{Reason: reason, Err: errors.New("no")} }
	justFound := problem(v1alpha1.ReasonUnknownType)
	justFound.Since = time.Now()
	for name, test := range map[string]struct {
		status  v1alpha1.ControllerStatus
		kstatus status.Status
		argo    string
	}{
		"new":                                {v1alpha1.NewStatus(), status.InProgressStatus, "Progressing"},
		"updated":                            {ran(1), status.InProgressStatus, "Progressing"},
		"running, and no parent synced yet":  {of(&report.Health{Total: 2}, nil), status.InProgressStatus, "Progressing"},
		"running, without parents":           {of(&report.Health{}, nil), status.CurrentStatus, "Healthy"},
		"running":                            {ran(2), status.CurrentStatus, "Healthy"},
		"one parent fails":                   {of(&report.Health{Total: 2, Synced: 1, Failing: 1, Failure: fails}, nil), status.CurrentStatus, "Healthy"},
		"all parents fail":                   {of(&report.Health{Total: 2, Failing: 2, Failure: fails}, nil), status.InProgressStatus, "Degraded"},
		"unknown type, just found":           {of(nil, justFound), status.InProgressStatus, "Degraded"},
		"unknown type":                       {of(nil, problem(v1alpha1.ReasonUnknownType)), status.FailedStatus, "Degraded"},
		"invalid, the former spec runs":      {of(&report.Health{Total: 1, Synced: 1}, &report.Problem{Reason: v1alpha1.ReasonInvalidSpec, Err: errors.New("no"), RunningGeneration: 1}), status.FailedStatus, "Degraded"},
		"rights missing":                     {of(nil, problem(v1alpha1.ReasonForbidden)), status.FailedStatus, "Degraded"},
		"credentials missing":                {of(nil, problem(v1alpha1.ReasonCredentials)), status.FailedStatus, "Degraded"},
		"hook down":                          {of(&report.Health{Total: 2, Synced: 1, Failing: 1}, problem(v1alpha1.ReasonHookDown)), status.InProgressStatus, "Degraded"},
		"held":                               {of(nil, problem(v1alpha1.ReasonHeld)), status.InProgressStatus, "Degraded"},
		"paused":                             {of(&report.Health{Total: 2, AllPaused: true}, nil), status.CurrentStatus, "Suspended"},
		"with a warning":                     {of(&report.Health{Total: 1, Synced: 1, LacksAccount: true}, nil), status.CurrentStatus, "Healthy"},
		"being deleted, waiting for parents": {of(nil, problem(v1alpha1.ReasonDeleting)), status.TerminatingStatus, "Degraded"},
	} {
		t.Run(name, func(t *testing.T) {
			controller := &v1alpha1.CompositeController{
				TypeMeta:   metav1.TypeMeta{APIVersion: "metacontroller.k8s.io/v1alpha1", Kind: "CompositeController"},
				ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 2}, Status: test.status,
			}
			if test.kstatus == status.TerminatingStatus {
				controller.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			}
			if got := kstatusOf(t, controller); got != test.kstatus {
				t.Errorf("kstatus says %s, want %s, of %v", got, test.kstatus, test.status.Conditions)
			}
			if got := argoHealth(t, untyped(t, controller)); !strings.HasPrefix(got, test.argo+" ") {
				t.Errorf("Argo CD says %s, want %s", got, test.argo)
			}
		})
	}
}

func kstatusOf(t *testing.T, of runtime.Object) status.Status {
	t.Helper()
	result, err := status.Compute(&unstructured.Unstructured{Object: untyped(t, of)})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

func untyped(t *testing.T, of runtime.Object) map[string]any {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}
