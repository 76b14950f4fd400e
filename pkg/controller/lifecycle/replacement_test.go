// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const pods, visits = "v1 pods", "ctl.example/v1 visits"

// addVisits adds a child type.
func addVisits(object *v1alpha1.CompositeController) {
	object.Spec.ChildResources = append(object.Spec.ChildResources, v1alpha1.CompositeControllerChildResourceRule{ResourceRule: rules(visits)[0]})
}

// waitsToReplace waits until a controller is prepared to replace the one that runs, which it
// returns.
func (f *fixture) waitsToReplace(t *testing.T, name string) *running {
	t.Helper()
	state := f.state(name)
	waitUntil(t, func() string { return "nothing is prepared" }, func() bool { return state.getPrepared() != nil })
	return state.getRunning()
}

func (f *fixture) runningGeneration(t *testing.T, name string) int64 {
	t.Helper()
	object, err := f.api.getLive(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return object.GetStatus().RunningGeneration
}

func TestAControllerRunsOnUntilTheNextOneSeesItsTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		does behaviour
		says []string
	}{
		"the cluster refuses to list one":   {forbids, []string{"False WatchFailed: the cluster does not let Visit.ctl.example/v1 be listed: ", "visits is forbidden"}},
		"the cluster does not end the list": {hangs, []string{"False TypesNotListed: the cluster has not ended its answer to the list of Visit.ctl.example/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it takes a while until that is told
			f := newFixture(t)
			f.create(t, controllerOf("shop", pods))
			f.untilReady(t, "shop", "True Running")
			f.host.set("visits", test.does)
			before := f.state("shop").getRunning()
			f.update(t, "shop", addVisits)
			if f.waitsToReplace(t, "shop") != before {
				t.Error("another one runs")
			}
			f.untilReady(t, "shop", test.says[0], append(test.says, "still runs")...)
			if got, want := f.runningGeneration(t, "shop"), before.object.GetGeneration(); got != want || want == 0 {
				t.Errorf("the status says that generation %d runs, want %d", got, want)
			}
			if f.state("shop").getRunning() != before {
				t.Error("the one that ran before is stopped")
			}
			f.host.set("visits", streams)
			f.untilReady(t, "shop", "True Running")
			if got := f.runningGeneration(t, "shop"); got != 0 {
				t.Errorf("the status says that an earlier generation runs, %d", got)
			}
			if now := f.state("shop"); now.getRunning() == before || now.getPrepared() != nil {
				t.Error("the next one does not replace the one that ran before")
			}
		})
	}
}

func TestWhatWasPreparedIsDroppedWhenItIsNoLongerWanted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(t *testing.T, f *fixture)
		ready   string
		// runsOn is true if the controller that runs is the right one.
		runsOn bool
	}{
		"the spec is as before again": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) {
				object.Spec.ChildResources = object.Spec.ChildResources[:1]
			})
		}, "True Running", true},
		"the spec changes once more": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) { object.Spec.ChildResources = nil })
		}, "True Running", false},
		"the spec has become invalid": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) { object.Spec.Hooks = nil })
		}, "False InvalidSpec", true},
		"the object is gone": {func(t *testing.T, f *fixture) {
			if err := f.own.MetacontrollerV1alpha1().CompositeControllers().Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}, "", false},
		"the object is being deleted": {func(t *testing.T, f *fixture) {
			f.update(t, "shop", func(object *v1alpha1.CompositeController) {
				now := metav1.Now()
				object.DeletionTimestamp = &now
			})
		}, "False Deleting", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.create(t, controllerOf("shop", pods))
			f.untilReady(t, "shop", "True Running")
			f.host.set("visits", forbids)
			f.update(t, "shop", addVisits)
			before, state := f.waitsToReplace(t, "shop"), f.state("shop")
			test.happens(t, f)
			waitUntil(t, func() string { return "it is still prepared" }, func() bool { return state.getPrepared() == nil })
			if test.ready != "" {
				f.untilReady(t, "shop", test.ready)
			}
			if now := state.getRunning(); test.runsOn != (now == before) {
				t.Errorf("the one that ran before runs on: %v, want %v", now == before, test.runsOn)
			}
		})
	}
}

func TestAControllerIsNotReadyBeforeItSeesItsTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		does behaviour
		says []string
	}{
		"the cluster refuses to list one":      {forbids, []string{"False WatchFailed: the cluster does not let Visit.ctl.example/v1 be listed: ", "visits is forbidden"}},
		"the cluster does not end the list":    {hangs, []string{"False TypesNotListed: the cluster has not ended its answer to the list of Visit.ctl.example/v1"}},
		"the host cannot send what it watches": {breaks, []string{"False WatchFailed", "Visit.ctl.example/v1", "conversion webhook failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it takes a while until that is told
			f := newFixture(t)
			f.host.set("visits", test.does)
			f.create(t, controllerOf("shop", pods, visits))
			f.untilReady(t, "shop", test.says[0], test.says...)
			if written := f.written(); slices.Contains(written, metav1.ConditionTrue) {
				t.Errorf("Ready was %v", written)
			}
			f.host.set("visits", streams)
			f.untilReady(t, "shop", "True Running")
		})
	}
}

func TestAStartWritesTheStatusOnce(t *testing.T) {
	f := newFixture(t)
	f.create(t, controllerOf("shop", pods, visits))
	f.untilReady(t, "shop", "True Running")
	if written := f.written(); len(written) != 1 {
		t.Errorf("Ready was written %d times: %v", len(written), written)
	}
}

// written returns the condition Ready of each status that was written.
func (f *fixture) written() (ready []metav1.ConditionStatus) {
	for _, action := range f.own.Actions() {
		if update, ok := action.(clienttesting.UpdateAction); ok && action.GetSubresource() == "status" {
			conditions := update.GetObject().(*v1alpha1.CompositeController).Status.Conditions
			ready = append(ready, meta.FindStatusCondition(conditions, v1alpha1.ConditionReady).Status)
		}
	}
	return ready
}
