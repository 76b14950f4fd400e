// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted/syncqueue"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestTheStateOfAParent(t *testing.T) {
	ended := time.Unix(1000, 0).UnixNano()
	synced := syncSummary{ended: ended, generation: 2, synced: metav1.ConditionTrue}
	note := func(state v1alpha1.SyncState, text string) syncSummary {
		return syncSummary{ended: ended, generation: 2, synced: metav1.ConditionFalse, note: &syncNote{state, text}}
	}
	warning := parentHealth{warnings: [warningSorts]*pipeline.Warning{ofChildren: {Reason: pipeline.ChildOutdated, Message: "two\nlines"}}}
	for name, test := range map[string]struct {
		paused   bool
		health   parentHealth
		last     syncSummary
		state    v1alpha1.SyncState
		message  string
		synced   metav1.ConditionStatus
		waitsFor string
	}{
		"it was not synced yet": {
			state: v1alpha1.SyncStateWaiting, message: "it has not been synced yet since the controller started",
			synced: metav1.ConditionUnknown, waitsFor: "its turn in the queue",
		},
		"it is synced": {last: synced, state: v1alpha1.SyncStateSynced, synced: metav1.ConditionTrue},
		"it is synced, with a warning": {
			health: warning, last: synced, state: v1alpha1.SyncStateSynced, message: "two\nlines", synced: metav1.ConditionTrue,
		},
		"it has changed since": {
			last: syncSummary{ended: ended, generation: 1}, state: v1alpha1.SyncStateProgressing, message: "generation 2 is to be synced", synced: metav1.ConditionFalse,
		},
		"it rolls out": {
			last:  note(v1alpha1.SyncStateProgressing, "updating Pod a"),
			state: v1alpha1.SyncStateProgressing, message: "updating Pod a", synced: metav1.ConditionFalse, waitsFor: "updating Pod a",
		},
		"it waits": {
			last:  note(v1alpha1.SyncStateWaiting, "the child is being deleted"),
			state: v1alpha1.SyncStateWaiting, message: "the child is being deleted", synced: metav1.ConditionFalse, waitsFor: "the child is being deleted",
		},
		"it waits for too long": {
			health: parentHealth{failure: &report.ParentError{Message: "it waits for long"}}, last: note(v1alpha1.SyncStateWaiting, "a child"),
			state: v1alpha1.SyncStateFailing, message: "it waits for long", synced: metav1.ConditionFalse, waitsFor: "a child",
		},
		"it failed, and has changed since": {
			health: parentHealth{failure: &report.ParentError{Message: "no"}}, last: syncSummary{ended: ended, generation: 1},
			state: v1alpha1.SyncStateFailing, message: "no", synced: metav1.ConditionFalse,
		},
		"it is paused": {
			health: parentHealth{paused: true}, last: synced,
			state: v1alpha1.SyncStatePaused, message: "the annotation metacontroller.k8s.io/paused pauses it", synced: metav1.ConditionUnknown,
		},
		"the controller is paused": {
			paused: true, health: parentHealth{paused: true}, last: synced,
			state: v1alpha1.SyncStatePaused, message: "the CompositeController is paused", synced: metav1.ConditionUnknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Controller{line: line{spec: &Spec{Kind: Kind{Name: "CompositeController"}, Paused: test.paused}}, health: newSyncHealth()}
			c.health.parents[web("a")] = test.health
			parent := snapshotOf("a").Parent
			parent.Generation = 2
			var status v1alpha1.SyncStatus
			c.describeState(&status, parent, &test.last)
			if status.State != test.state || status.Message != test.message || status.WaitsFor != test.waitsFor {
				t.Errorf("the status is %+v", status)
			}
			conditions := conditionsOf(&status, &test.last)
			if conditions[0].Status != test.synced {
				t.Errorf("the conditions are %+v", conditions)
			}
			if isPaused := test.health.paused; isPaused != (len(conditions) == 2) {
				t.Errorf("the conditions are %+v", conditions)
			}
		})
	}
}

func TestChildrenAreCounted(t *testing.T) {
	child := configMap(t, "c", `"uid":"c"`)
	leaving := configMap(t, "d", `"deletionTimestamp":"2026-01-01T00:00:00Z"`)
	keep := func(of *object.Object) pipeline.Step { return pipeline.Step{Op: pipeline.Keep, Observed: of} }
	done := func(op pipeline.Op) pipeline.Outcome { return pipeline.Outcome{Step: pipeline.Step{Op: op}} }
	for name, test := range map[string]struct {
		plan     pipeline.Plan
		outcomes []pipeline.Outcome
		behind   int
		want     string
	}{
		"none are wanted":              {want: "0/0"},
		"all are there":                {plan: pipeline.Plan{Desired: 2, Steps: []pipeline.Step{keep(child), keep(child)}}, want: "2/2"},
		"one is being deleted":         {plan: pipeline.Plan{Desired: 2, Steps: []pipeline.Step{keep(child), keep(leaving)}}, want: "1/2"},
		"one is left as it is":         {plan: pipeline.Plan{Desired: 2, Steps: []pipeline.Step{keep(child), keep(child)}, Outdated: 1}, want: "1/2"},
		"one is refused":               {plan: pipeline.Plan{Desired: 2, Steps: []pipeline.Step{keep(child)}}, want: "1/2"},
		"one is at an earlier version": {plan: pipeline.Plan{Desired: 2, Steps: []pipeline.Step{keep(child), keep(child)}}, behind: 1, want: "1/2"},
		"all are written": {
			plan: pipeline.Plan{Desired: 5},
			outcomes: []pipeline.Outcome{
				done(pipeline.Create), done(pipeline.Update), done(pipeline.Apply), done(pipeline.ToDynamicApply), done(pipeline.ToServerSideApply),
				done(pipeline.Delete), done(pipeline.Status), done(pipeline.Adopt), done(pipeline.Release),
			},
			want: "5/5",
		},
		"none could be written": {
			plan: pipeline.Plan{Desired: 4},
			outcomes: []pipeline.Outcome{
				{Step: pipeline.Step{Op: pipeline.Create}, Err: io.EOF}, {Step: pipeline.Step{Op: pipeline.Create}, NameConflict: true},
				{Step: pipeline.Step{Op: pipeline.Update}, Conflict: true}, done(pipeline.Recreate),
			},
			want: "0/4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			counts := countChildren(&test.plan, test.outcomes, countKept(&test.plan), test.behind)
			if got := fmt.Sprintf("%d/%d", counts.asWanted, counts.wanted); got != test.want {
				t.Errorf("counted %s, want %s", got, test.want)
			}
		})
	}
}

// shownAfter returns the row of webs/a after a sync with an answer of the hook.
func shownAfter(t *testing.T, answer string) *v1alpha1.Sync {
	t.Helper()
	answering := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	t.Cleanup(answering.Close)
	config, _ := hostOfText(t, "", `,"status":{"observedGeneration":0,"ready":1}`)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	spec := specOf(at(answering.URL), pods)
	spec.UID, spec.Kind.ShortName = "controller", "cc"
	c := controllerAt(t, config, Dependencies{
		Events: events, Hook: hook.Options{MaxResponseBytes: 1 << 20, MaxIdleConnections: 1, Metrics: hook.NewMetrics()},
	}, spec)
	c.sync(t.Context(), web("a"), syncqueue.ParentChanged)
	return c.row(web("a"))
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
		Operation: "create", APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "p", Why: "the hook lists it and it is not there",
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

func TestTheRowOfWhatIsNoParent(t *testing.T) {
	config, _ := hostOf(t)
	c := controllerAt(t, config, Dependencies{}, specOf(at("http://hooks.example")))
	if row := c.row(web("gone")); row != nil {
		t.Errorf("there is a row: %+v", row)
	}
}

// Two parents, and two controllers, never have the same row, though they have the same name.
func TestNamesOfRows(t *testing.T) {
	composite := &Controller{
		Dependencies: Dependencies{RevisionNamespace: "server"}, line: line{spec: &Spec{Kind: Kind{ShortName: "cc"}, Name: "x"}},
	}
	if got, want := composite.rowName(web("a")), (types.NamespacedName{Namespace: "default", Name: "cc:x:a"}); got != want {
		t.Errorf("the name is %s, want %s", got, want)
	}
	cluster := web("a")
	cluster.Namespace = ""
	if got, want := composite.rowName(cluster), (types.NamespacedName{Namespace: "server", Name: "cc:x:a"}); got != want {
		t.Errorf("the name of a cluster-scoped one is %s, want %s", got, want)
	}
	one, again, other := uidOf("a", "b"), uidOf("a", "b"), uidOf("b", "a")
	if one != again || one == other {
		t.Error("UIDs are not made of both")
	}
}

func TestTheStepsOfFewParentsAreKept(t *testing.T) {
	log, now := newStepLog(), time.Now()
	outcomes := slices.Repeat([]pipeline.Outcome{{Step: pipeline.Step{Op: pipeline.Create}, Err: errors.New("no")}}, maxStepsOfSync+5)
	for i := range maxSteps {
		log.add(web(fmt.Sprint(i)), outcomes, now)
	}
	log.add(web("nothing"), nil, now)
	kept := maxSteps / maxStepsOfSync
	if len(log.byParent) != kept || log.kept.Len() != kept || log.number != maxSteps {
		t.Errorf("%d steps of %d parents are kept", log.number, len(log.byParent))
	}
	last := web(fmt.Sprint(maxSteps - 1))
	if steps := log.of(last); steps == nil || len(steps.Steps) != maxStepsOfSync || steps.Omitted != 5 || steps.Steps[0].Error != "no" {
		t.Errorf("the last are %+v", steps)
	}
	if log.of(web("0")) != nil {
		t.Error("the first are kept")
	}
	log.add(last, outcomes[:1], now)
	log.forget(web(fmt.Sprint(maxSteps - 2)))
	if want := maxSteps - 2*maxStepsOfSync + 1; log.number != want || len(log.of(last).Steps) != 1 {
		t.Errorf("%d steps are kept, want %d", log.number, want)
	}
}

// Nothing is made for those who look while nobody does.
func TestAQuietSyncIsRecordedWithoutAnAllocation(t *testing.T) {
	c := &Controller{Dependencies: Dependencies{Syncs: &Syncs{}}, health: newSyncHealth(), steps: newStepLog()}
	key, state, started := web("a"), &parentState{generation: 1, children: childCounts{1, 1, 0, true}}, time.Now()
	alloctest.Exactly(t, 0, func() {
		c.record(key, state, nil, nil, started)
		c.Syncs.changed(c, key)
	})
}

func TestTransitionsHaveTheirTime(t *testing.T) {
	var record syncRecord
	at := func(seconds int64) int64 { return time.Unix(seconds, 0).UnixNano() }
	record.set(syncSummary{ended: at(1), synced: metav1.ConditionTrue})
	record.set(syncSummary{ended: at(2), synced: metav1.ConditionTrue})
	if got := record.get().since; got != at(1) {
		t.Errorf("synced since %d", got)
	}
	record.set(syncSummary{ended: at(3), synced: metav1.ConditionFalse, note: &syncNote{}})
	if got := record.get().since; got != at(3) {
		t.Errorf("not synced since %d", got)
	}
	record.pause(time.Unix(4, 0))
	record.pause(time.Unix(5, 0))
	if got := record.get(); got.since != at(4) || got.ended != at(3) || got.note != nil {
		t.Errorf("paused: %+v", got)
	}
}

func TestWhenAllParentsAreSyncedAgain(t *testing.T) {
	start := time.Unix(1000, 0)
	every := (*ticksOf([]time.Duration{0, time.Minute}, start))[0]
	for after, want := range map[time.Duration]time.Duration{
		0:                time.Minute,
		59 * time.Second: time.Minute,
		time.Minute:      2 * time.Minute,
		90 * time.Second: 2 * time.Minute,
	} {
		if got := every.after(start.Add(after)).Sub(start); got != want {
			t.Errorf("after %s, the next is at %s, want %s", after, got, want)
		}
	}
}

func TestFollowSyncs(t *testing.T) {
	config, _ := hostOf(t)
	spec := specOf(at("http://hooks.example"))
	spec.Kind.ShortName = "cc"
	syncs := &Syncs{}
	c := controllerAt(t, config, Dependencies{Syncs: syncs}, spec)
	stop := errors.New("seen enough")
	var told []string
	remove := syncs.add(c)
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
	syncs := &Syncs{}
	first := controllerAt(t, config, Dependencies{Syncs: syncs}, specOf(at("http://hooks.example")))
	second := controllerAt(t, config, Dependencies{Syncs: syncs}, specOf(at("http://hooks.example/other")))
	stop := errors.New("seen enough")
	remove, calls := syncs.add(first), 0
	err := syncs.Follow(t.Context(), func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error {
		if calls++; calls == 1 {
			remove()
			t.Cleanup(syncs.add(second))
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
