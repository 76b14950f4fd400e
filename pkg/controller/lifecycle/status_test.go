// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
	typed "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
)

// A user who creates a controller and changes it right away is not in conflict with a write of its
// status.
func TestTheStatusOfANewSpecIsWrittenAfterAMoment(t *testing.T) {
	start := time.Now()
	object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u", Generation: 1}}
	state := &controllerState{name: "webs"}
	refused := &report.Problem{Reason: v1alpha1.ReasonInvalidSpec, Err: errors.New("no hooks defined")}
	expect := func(after time.Duration, want bool) {
		t.Helper()
		state.see(object, start.Add(after))
		if _, due := state.checkStatus(object, start.Add(after), newStatusBudget()); due != want {
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

// behind returns states of controllers whose status has the condition Ready as it should be, and
// lacks the rest. Each was looked at a second later than the one before it.
func behind(start time.Time, count int) (states map[string]*controllerState, objects map[string]controllerObject) {
	states, objects = map[string]*controllerState{}, map[string]controllerObject{}
	refused := &report.Problem{Reason: v1alpha1.ReasonInvalidSpec, Err: errors.New("no hooks defined")}
	for i := range count {
		name := fmt.Sprint(i)
		object := &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1}}
		said := report.Status(object.Status, 1, nil, refused)
		object.Status.ObservedGeneration = 1
		object.Status.Conditions = []metav1.Condition{*meta.FindStatusCondition(said.Conditions, v1alpha1.ConditionReady)}
		state := &controllerState{name: name, statusChecked: start.Add(time.Duration(i) * time.Second)}
		state.see(object, start)
		state.setProblem(object, refused)
		states[name], objects[name] = state, object
	}
	return states, objects
}

func TestAStatusIsComparedOnceASecond(t *testing.T) {
	start := time.Now()
	byName, objects := behind(start, 1)
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{statusInterval - 1, false}, {statusInterval, true}, {2*statusInterval - 1, false}, {2 * statusInterval, true}} {
		if _, due := byName["0"].checkStatus(objects["0"], start.Add(step.after), newStatusBudget()); due != step.want {
			t.Errorf("after %s it is written: %v, want %v", step.after, due, step.want)
		}
	}
}

func TestWhichControllersLackAServiceAccount(t *testing.T) {
	account := v1alpha1.Access{ServiceAccount: &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}}
	for name, test := range map[string]struct {
		required bool
		access   v1alpha1.Access
		want     bool
	}{
		"it has none, and none is required": {},
		"it has none, and one is required":  {required: true, want: true},
		"it has one, and one is required":   {required: true, access: account},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			byName, objects := behind(start, 1)
			object := objects["0"].(*v1alpha1.CompositeController)
			object.Spec.Access, byName["0"].accountRequired = test.access, test.required
			if got := byName["0"].lacksAccount(object); got != test.want {
				t.Errorf("it lacks an account: %v", got)
			}
		})
	}
}

// The writes of hundreds of controllers are bounded together, and none of them is left out.
func TestStatusesThatAreBehindAreWrittenATickAfterTheOther(t *testing.T) {
	const count = 2*statusesPerTick + 5
	start := time.Now()
	byName, objects := behind(start, count)
	writer := &statusWriter{states: &states{byName: byName}}
	var written [][]string
	for tick := range 3 {
		budget, now := newStatusBudget(), start.Add(time.Hour+time.Duration(tick)*statusTick)
		var names []string
		for _, state := range writer.byAge() {
			if _, due := state.checkStatus(objects[state.name], now, budget); due {
				names = append(names, state.name)
			}
		}
		written = append(written, names)
	}
	for tick, names := range written {
		var want []string
		for i := tick * statusesPerTick; i < min((tick+1)*statusesPerTick, count); i++ {
			want = append(want, fmt.Sprint(i))
		}
		if !slices.Equal(names, want) {
			t.Errorf("at tick %d, the statuses of %q are written, want %q", tick, names, want)
		}
	}
}

// A change of Ready is seen at once, however much is written.
func TestTheConditionReadyDoesNotWaitForOtherStatuses(t *testing.T) {
	start := time.Now()
	byName, objects := behind(start, 1)
	byName["0"].setProblem(objects["0"], &report.Problem{Reason: v1alpha1.ReasonClusterUnreachable, Err: errors.New("timed out")})
	spent := newStatusBudget()
	for spent.take() {
	}
	if _, due := byName["0"].checkStatus(objects["0"], start.Add(writeDelay), spent); !due {
		t.Error("it waits")
	}
}

// Others may write the status at the same time, for example the status writer of this process.
func TestAControllerThatIsNotSelectedIsToldSoInSpiteOfAConflict(t *testing.T) {
	api := &busyAPI{stored: &v1alpha1.CompositeController{ObjectMeta: metav1.ObjectMeta{Name: "webs", UID: "u"}}, conflicts: 1}
	state := &controllerState{name: "webs", seen: seenSpec{id: specID{uid: "u"}}}
	writer := &statusWriter{api: typedClient[*v1alpha1.CompositeController]{client: api}}
	if err := writer.writeNotSelected(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(api.stored.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonNotSelected {
		t.Errorf("the condition is %v, want the reason %s", ready, v1alpha1.ReasonNotSelected)
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

func TestAControllerThatIsNoLongerSelectedIsToldSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failure error
		times   int32
	}{
		"also if others overtake the write": {apierrors.NewConflict(schema.GroupResource{Resource: "compositecontrollers"}, "shop", errors.New("it has changed")), 10},
		"also if the storage has failed":    {errors.New("etcdserver: leader changed"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries, told, own := &atomic.Int32{}, &atomic.Bool{}, fake.NewSimpleClientset()
			own.PrependReactor("update", "compositecontrollers", func(action clienttesting.Action) (bool, runtime.Object, error) {
				object := action.(clienttesting.UpdateAction).GetObject().(*v1alpha1.CompositeController)
				ready := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
				if ready == nil || ready.Reason != v1alpha1.ReasonNotSelected {
					return false, nil, nil
				}
				if tries.Add(1) > test.times {
					told.Store(true)
					return false, nil, nil
				}
				return true, nil, test.failure
			})
			f := newFixtureWith(t, own)
			f.create(t, controllerOf("shop", pods))
			f.untilReady(t, "shop", "True Running")
			waitUntil(t, func() string { return "its status is not written" }, func() bool {
				// as if a selector had been in the watch, which would leave out its status, too
				if object, err := f.api.get("shop"); err == nil {
					if err := f.api.informer().GetStore().Delete(object); err != nil {
						t.Fatal(err)
					}
					f.queue.Add("shop")
				}
				return told.Load()
			})
		})
	}
}
