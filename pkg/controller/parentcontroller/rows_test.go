// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

// shownAfter returns the row of webs/a after a sync with an answer of the hook.
func shownAfter(t *testing.T, answer string) *v1alpha1.Sync {
	t.Helper()
	c := answeredBy(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
	c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	return c.rows.Row(web("a"))
}

// answeredBy returns a controller of webs with a hook.
func answeredBy(t *testing.T, hookOf http.HandlerFunc) *Controller {
	t.Helper()
	answering := httptest.NewServer(hookOf)
	t.Cleanup(answering.Close)
	config, _ := hostOfText(t, "", `,"status":{"observedGeneration":0,"ready":1}`)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	spec := specOf(at(answering.URL), pods)
	spec.UID, spec.Kind.ShortName = "controller", "cc"
	return controllerAt(t, config, Dependencies{
		Events: events, Hook: hook.Options{Limits: hook.Limits{MaxResponseBytes: 1 << 20}, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
	}, spec)
}

func TestTheRowOfAParent(t *testing.T) {
	row := shownAfter(t, `{"status":{"ready":1},"children":[]}`)
	status := row.Status
	if row.Name != "cc:webs:a" || row.Namespace != "default" || row.UID == "" || row.Labels[v1alpha1.ControllerNameLabel] != "webs" ||
		row.Spec.Parent.UID != "u" || row.Spec.Controller.Name != "webs" {
		t.Errorf("the row is %+v", row)
	}
	if status.State != v1alpha1.SyncStateSynced || status.LastSyncTime == nil || status.LastSyncDuration == nil || status.NextSyncTime != nil ||
		status.Backoff != nil || *status.Children != (v1alpha1.SyncChildren{}) {
		t.Errorf("the status is %+v", status)
	}
}

// The host has a Pod of that name, which nobody can see.
func TestTheRowHasTheStepsOfTheLastSyncThatDidSomething(t *testing.T) {
	row := shownAfter(t, `{"status":{"ready":1},"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}`)
	want := []v1alpha1.SyncStep{{
		Operation: "create", APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "p", Why: "the hook lists it and it does not exist",
		Result: v1alpha1.SyncStepConflict,
	}}
	if row.Status.LastSteps == nil {
		t.Fatalf("the status is %+v", row.Status)
	}
	if diff := cmp.Diff(want, row.Status.LastSteps.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if *row.Status.Children != (v1alpha1.SyncChildren{Wanted: 1}) || row.Status.State != v1alpha1.SyncStateWaiting {
		t.Errorf("the status is %+v", row.Status)
	}
}

func TestTheRowOfAParentHasNothingOfAnEarlierOneOfItsName(t *testing.T) {
	answers := []string{
		`{"children":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}`, `{"status":{"ready":1},"children":[]}`,
	}
	c := answeredBy(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, answers[0])
		answers = answers[1:]
	})
	c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	if c.rows.Row(web("a")).Status.LastSteps == nil {
		t.Fatal("the first parent has no steps")
	}
	c.parents.get(web("a")).uid = "of the first"
	c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	if steps := c.rows.Row(web("a")).Status.LastSteps; steps != nil {
		t.Errorf("the second parent has the steps %+v", steps)
	}
}

func TestTheRowOfWhatIsNoParent(t *testing.T) {
	config, _ := hostOf(t)
	c := controllerAt(t, config, Dependencies{}, specOf(at("http://hooks.example")))
	if row := c.rows.Row(web("gone")); row != nil {
		t.Errorf("there is a row: %+v", row)
	}
}

func TestFollowSyncs(t *testing.T) {
	config, _ := hostOf(t)
	spec := specOf(at("http://hooks.example"))
	spec.Kind.ShortName = "cc"
	syncs := &rows.Syncs{}
	c := controllerAt(t, config, Dependencies{Syncs: syncs}, spec)
	stop := errors.New("seen enough")
	var told []string
	remove := c.rows.Show()
	err := syncs.Follow(t.Context(), func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error {
		for _, one := range changed {
			told = append(told, "+"+one.Name)
		}
		for _, one := range gone {
			told = append(told, "-"+one.String())
		}
		switch len(told) {
		case 0:
			t.Error("the first call tells nothing")
		case 1:
			remove()
		default:
			return stop
		}
		return nil
	})
	if want := []string{"+cc:webs:a", "-default/cc:webs:a"}; !errors.Is(err, stop) || !slices.Equal(told, want) {
		t.Errorf("told %q, then %v", told, err)
	}
}

// A controller that replaces another one does so in less time than followers wait for more changes.
func TestRowsStayWhenAControllerIsReplaced(t *testing.T) {
	config, _ := hostOf(t)
	syncs := &rows.Syncs{}
	first := controllerAt(t, config, Dependencies{Syncs: syncs}, specOf(at("http://hooks.example")))
	second := controllerAt(t, config, Dependencies{Syncs: syncs}, specOf(at("http://hooks.example/other")))
	stop := errors.New("seen enough")
	remove, calls := first.rows.Show(), 0
	err := syncs.Follow(t.Context(), func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error {
		if calls++; calls == 1 {
			remove()
			t.Cleanup(second.rows.Show())
			return nil
		}
		if len(changed) != 1 || len(gone) > 0 {
			t.Errorf("changed: %v, gone: %v", changed, gone)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}
