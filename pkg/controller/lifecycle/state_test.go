// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
)

// A user who creates a controller and changes it right away is not in conflict with a write of its
// finalizer.
func TestANewControllerIsLeftAloneForAMoment(t *testing.T) {
	object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u", Generation: 1}}
	var state controllerState
	state.see(object, time.Now())
	if err := state.mayWrite(object); !errors.Is(err, errSpecIsNew) {
		t.Errorf("error is %v", err)
	}
	state.seen.since = time.Now().Add(-writeDelay)
	if err := state.mayWrite(object); err != nil {
		t.Errorf("error is %v after a while", err)
	}
	object.Generation = 2
	if err := state.mayWrite(object); !errors.Is(err, errSpecIsNew) {
		t.Errorf("error is %v after another change, which was not seen yet", err)
	}
	state.see(object, time.Now())
	if err := state.mayWrite(object); !errors.Is(err, errSpecIsNew) {
		t.Errorf("error is %v after another change", err)
	}
}

func TestWhyParentsAreHeldIsToldOnce(t *testing.T) {
	var state controllerState
	object := &v1alpha1.CompositeController{}
	state.setDeleting(object, nil)
	if !strings.HasPrefix(state.problem.Err.Error(), "the controller is being deleted and no longer runs") {
		t.Errorf("the problem is %v", state.problem.Err)
	}
	refused := errors.New("refused")
	for i, want := range []bool{true, false} {
		if got := state.setDrainErr(refused); got != want {
			t.Errorf("time %d is a change: %v", i+1, got)
		}
	}
	state.setDeleting(object, nil)
	if got := state.problem.Err.Error(); !strings.Contains(got, "refused") || !strings.Contains(got, v1alpha1.SkipDrainAnnotation) || !state.isCurrent(object) {
		t.Errorf("the problem is %s", got)
	}
	if state.setDrainErr(nil) || !state.setDrainErr(refused) {
		t.Error("no error is no change, another error after it is")
	}
}

func TestAProblemThatAnEarlierProcessFoundStaysStalled(t *testing.T) {
	since := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	for name, test := range map[string]struct {
		reason     string
		generation int64
		stalled    bool
	}{
		"the same problem":                {v1alpha1.ReasonUnknownType, 1, true},
		"another problem":                 {v1alpha1.ReasonForbidden, 1, false},
		"the problem of an earlier spec":  {v1alpha1.ReasonUnknownType, 2, false},
		"the object is now being deleted": {v1alpha1.ReasonDeleting, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Generation: test.generation}}
			object.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUnknownType,
				ObservedGeneration: 1, LastTransitionTime: since,
			}}
			var state controllerState
			state.setProblem(object, &report.Problem{Reason: test.reason, Err: errors.New("x")})
			said := report.Status(object.Status, test.generation, nil, state.problem)
			stalled := meta.FindStatusCondition(said.Conditions, v1alpha1.ConditionStalled)
			if (stalled != nil) != test.stalled || stalled != nil && !stalled.LastTransitionTime.Equal(&since) {
				t.Errorf("the condition is %+v", stalled)
			}
		})
	}
}

func TestEqualSpecs(t *testing.T) {
	of := func(uid types.UID, generation int64, resync int32) *v1alpha1.CompositeController {
		return &v1alpha1.CompositeController{
			ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation},
			Spec:       v1alpha1.CompositeControllerSpec{ResyncPeriodSeconds: &resync},
		}
	}
	a := of("a", 1, 5)
	for name, test := range map[string]struct {
		other *v1alpha1.CompositeController
		want  bool
	}{
		"the same":                      {of("a", 1, 5), true},
		"a spec that came back":         {of("a", 3, 5), true},
		"another spec":                  {of("a", 2, 6), false},
		"another object's of that name": {of("b", 1, 5), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := equalSpecs(a, test.other); got != test.want {
				t.Errorf("they ask for the same: %v, want %v", got, test.want)
			}
		})
	}
	same := of("a", 1, 5)
	if allocations := testing.AllocsPerRun(10, func() { equalSpecs(a, same) }); allocations > 0 {
		t.Errorf("it takes %.0f allocations", allocations)
	}
}
