// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"io"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestTheStateOfAParent(t *testing.T) {
	ended := time.Unix(1000, 0).UnixNano()
	synced := summary{ended: ended, generation: 2, synced: metav1.ConditionTrue}
	note := func(state v1alpha1.SyncState, text string) summary {
		return summary{ended: ended, generation: 2, synced: metav1.ConditionFalse, note: &Note{state, text}}
	}
	warning := status.ParentHealth{Warnings: []pipeline.Warning{{Reason: v1alpha1.ReasonChildOutdated, Message: "two\nlines"}}}
	for name, test := range map[string]struct {
		paused   bool
		health   status.ParentHealth
		last     summary
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
			last: summary{ended: ended, generation: 1}, state: v1alpha1.SyncStateProgressing, message: "generation 2 has not " +
				"been synced yet", synced: metav1.ConditionFalse,
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
			health: status.ParentHealth{Failure: &report.ParentError{Message: "it waits for long"}}, last: note(v1alpha1.SyncStateWaiting, "a child"),
			state: v1alpha1.SyncStateFailing, message: "it waits for long", synced: metav1.ConditionFalse, waitsFor: "a child",
		},
		"it failed, and has changed since": {
			health: status.ParentHealth{Failure: &report.ParentError{Message: "no"}}, last: summary{ended: ended, generation: 1},
			state: v1alpha1.SyncStateFailing, message: "no", synced: metav1.ConditionFalse,
		},
		"it is paused": {
			health: status.ParentHealth{Paused: true}, last: synced,
			state: v1alpha1.SyncStatePaused, message: "the annotation metacontroller.k8s.io/paused pauses it", synced: metav1.ConditionUnknown,
		},
		"the controller is paused": {
			paused: true, health: status.ParentHealth{Paused: true}, last: synced,
			state: v1alpha1.SyncStatePaused, message: "the CompositeController is paused", synced: metav1.ConditionUnknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Rows{Reference: v1alpha1.ControllerReference{Kind: "CompositeController"}, IsPaused: test.paused}
			parent := snapshotOf("a").Parent
			parent.Generation = 2
			var shown v1alpha1.SyncStatus
			r.describe(&shown, parent, test.health, &test.last)
			if shown.State != test.state || shown.Message != test.message || shown.WaitsFor != test.waitsFor {
				t.Errorf("the status is %+v", shown)
			}
			conditions := conditionsOf(&shown, &test.last)
			if conditions[0].Status != test.synced {
				t.Errorf("the conditions are %+v", conditions)
			}
			isPaused := meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionPaused)
			isStalled := meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled)
			if isPaused != test.health.Paused || isStalled != (shown.State == v1alpha1.SyncStateFailing) {
				t.Errorf("the conditions are %+v", conditions)
			}
		})
	}
}

// Two parents, and two controllers, never have the same row, though they have the same name.
func TestNamesOfRows(t *testing.T) {
	composite := &Rows{ShortName: "cc", Reference: v1alpha1.ControllerReference{Name: "x"}, ClusterNamespace: "server"}
	if got, want := composite.name(web("a")), (types.NamespacedName{Namespace: "default", Name: "cc:x:a"}); got != want {
		t.Errorf("the name is %s, want %s", got, want)
	}
	cluster := web("a")
	cluster.Namespace = ""
	if got, want := composite.name(cluster), (types.NamespacedName{Namespace: "server", Name: "cc:x:a"}); got != want {
		t.Errorf("the name of a cluster-scoped one is %s, want %s", got, want)
	}
	one, again, other := uidOf("a", "b"), uidOf("a", "b"), uidOf("b", "a")
	if one != again || one == other {
		t.Error("UIDs are not made of both")
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
			counts := CountChildren(&test.plan, test.outcomes, CountKept(&test.plan), test.behind)
			if got := fmt.Sprintf("%d/%d", counts.AsWanted, counts.Wanted); got != test.want {
				t.Errorf("counted %s, want %s", got, test.want)
			}
		})
	}
}

func TestTransitionsHaveTheirTime(t *testing.T) {
	var record Record
	at := func(seconds int64) int64 { return time.Unix(seconds, 0).UnixNano() }
	record.set(summary{ended: at(1), synced: metav1.ConditionTrue})
	record.set(summary{ended: at(2), synced: metav1.ConditionTrue})
	if got := record.get().since; got != at(1) {
		t.Errorf("synced since %d", got)
	}
	record.set(summary{ended: at(3), synced: metav1.ConditionFalse, note: &Note{}})
	if got := record.get().since; got != at(3) {
		t.Errorf("not synced since %d", got)
	}
	record.Pause(time.Unix(4, 0))
	record.Pause(time.Unix(5, 0))
	if got := record.get(); got.since != at(4) || got.ended != at(3) || got.note != nil {
		t.Errorf("paused: %+v", got)
	}
}

// Nothing is made for readers while there are none.
func TestAQuietSyncIsRecordedWithoutAnAllocation(t *testing.T) {
	r := &Rows{Syncs: &Syncs{}, Health: status.NewTracker().Of}
	key, record, last := web("a"), &Record{}, Sync{Started: time.Now(), Generation: 1, Children: ChildCounts{1, 1, 0, true}}
	alloctest.AtMost(t, 0, func() {
		r.SyncEnded(key, record, last, nil)
		r.Changed(key)
	})
}
