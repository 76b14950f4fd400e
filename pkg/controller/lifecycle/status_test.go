// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	typed "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
)

// A user who creates a controller and changes it right away is not in conflict with a write of its
// status.
func TestTheStatusOfANewSpecIsWrittenAfterAMoment(t *testing.T) {
	start := time.Now()
	object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u", Generation: 1}}
	state := &controllerState{name: "webs"}
	refused := &report.Problem{Reason: report.ReasonInvalidSpec, Err: errors.New("no hooks defined")}
	expect := func(after time.Duration, want bool) {
		t.Helper()
		state.see(object, start.Add(after))
		if _, due := state.checkStatus(object, start.Add(after)); due != want {
			t.Errorf("after %s, the status is written: %v, want %v", after, due, want)
		}
	}
	state.setProblem(object, refused)
	expect(0, false)
	expect(writeDelay-1, false)
	expect(writeDelay, true)

	object = object.DeepCopy()
	object.Generation, object.Spec.ResyncPeriodSeconds = 2, ptr.To(int32(1))
	expect(time.Second, false) // it has not been reconciled
	state.setProblem(object, refused)
	expect(time.Second+writeDelay-1, false)
	expect(time.Second+writeDelay, true)

	object = object.DeepCopy()
	object.UID, object.Generation = "another", 2
	state.setProblem(object, refused)
	expect(2*time.Second, false)
	expect(2*time.Second+writeDelay, true)
}

// Others may write the status at the same time, for example the status writer of this process.
func TestAControllerThatIsNotSelectedIsToldSoInSpiteOfAConflict(t *testing.T) {
	api := &busyAPI{stored: &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u"}}, conflicts: 1}
	state := &controllerState{name: "webs", seen: seenSpec{id: specID{uid: "u"}}}
	r := &Reconciler{api: typedClient[*v1alpha1.CompositeController]{client: api}}
	if err := r.writeNotSelected(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(api.stored.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != report.ReasonNotSelected {
		t.Errorf("the condition is %v, want the reason %s", ready, report.ReasonNotSelected)
	}
}

// busyAPI has one object. The first updates of it are in conflict with others.
type busyAPI struct {
	typed.CompositeControllerInterface

	stored    *v1alpha1.CompositeController
	conflicts int
}

func (a *busyAPI) Get(context.Context, string, metav1.GetOptions) (*v1alpha1.CompositeController, error) {
	return a.stored.DeepCopy(), nil
}

func (a *busyAPI) UpdateStatus(_ context.Context, object *v1alpha1.CompositeController, _ metav1.UpdateOptions) (*v1alpha1.CompositeController, error) {
	if a.conflicts > 0 {
		a.conflicts--
		return nil, apierrors.NewConflict(v1alpha1.Resource("compositecontrollers"), object.Name, errors.New("it has been changed"))
	}
	a.stored = object
	return object, nil
}
