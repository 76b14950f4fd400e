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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	typed "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
)

// Whoever creates a controller and changes it right away is not in conflict with the
// status that tells about it.
func TestTheStatusOfANewSpecIsWrittenAfterAMoment(t *testing.T) {
	start := time.Now()
	object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u", Generation: 1}}
	entry := &controllerEntry{name: "webs"}
	refused := &report.Problem{Reason: report.ReasonInvalidSpec, Err: errors.New("no hooks defined")}
	expect := func(after time.Duration, want bool) {
		t.Helper()
		if _, due := entry.status(object, start.Add(after)); due != want {
			t.Errorf("after %s, the status is written: %v, want %v", after, due, want)
		}
	}
	entry.setProblem(object, refused)
	expect(0, false)
	expect(newFor-1, false)
	expect(newFor, true)

	object = object.DeepCopy()
	object.Generation, object.Spec.ResyncPeriodSeconds = 2, ptr.To(int32(1))
	expect(time.Second, false) // nobody has looked at it
	entry.setProblem(object, refused)
	expect(time.Second+newFor-1, false)
	expect(time.Second+newFor, true)

	object = object.DeepCopy()
	object.UID, object.Generation = "another", 2
	entry.setProblem(object, refused)
	expect(2*time.Second, false)
	expect(2*time.Second+newFor, true)
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

// Somebody else may write the status at the same time, as one of our own status writers.
func TestAControllerThatIsNotSelectedIsToldSoInSpiteOfAConflict(t *testing.T) {
	api := &busyAPI{stored: &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u"}}, conflicts: 1}
	entry := &controllerEntry{name: "webs", seen: specOf{uid: "u"}}
	r := &Reconciler{own: controllers[*v1alpha1.CompositeController]{client: api}}
	if err := r.disown(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(api.stored.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != report.ReasonNotSelected {
		t.Errorf("the condition is %v, want the reason %s", ready, report.ReasonNotSelected)
	}
}

// busyAPI has one object, of which some updates are in conflict with those of others.
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
