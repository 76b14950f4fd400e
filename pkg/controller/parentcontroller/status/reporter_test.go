// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestAnErrorIsReportedAgainOnlyAfterAWhile(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var last deduplicator
	for _, step := range []struct {
		what  string
		err   string
		after time.Duration
		want  bool
	}{
		{"the first error", "a", 0, true},
		{"the same at once", "a", time.Second, false},
		{"the same shortly before it is due", "a", pipeline.EventRepeatInterval - time.Second, false},
		{"the same when it is due", "a", pipeline.EventRepeatInterval, true},
		{"the same after that", "a", pipeline.EventRepeatInterval + time.Second, false},
		{"another", "b", pipeline.EventRepeatInterval + 2*time.Second, true},
		{"the first once more", "a", pipeline.EventRepeatInterval + 3*time.Second, true},
		{"the same when the clock was put back", "a", -time.Hour, true},
		{"the same after that", "a", -time.Hour + time.Second, false},
	} {
		if got := last.markIfDue(step.err, start.Add(step.after)); got != step.want {
			t.Errorf("%s is due: %v, want %v", step.what, got, step.want)
		}
	}
}

// One event tells what a sync has adopted. It does not name children whose reference to the parent was of another
// version.
func TestAdoptionsAreReportedInOneEvent(t *testing.T) {
	events, sent := eventsOf(t)
	r := &Reporter{Tracker: NewTracker(), Events: events}
	parent := configMap(t, "parent", `"uid":"u"`)
	adoption := func(name, more string) pipeline.Outcome {
		observed := configMap(t, name, more)
		return pipeline.Outcome{Result: observed, Step: pipeline.Step{
			Op: pipeline.Adopt, Type: object.Type{Kind: "ConfigMap"}, Observed: observed, Namespace: "default", Name: name,
		}}
	}
	failed := adoption("failed", `"uid":"f"`)
	failed.Result = nil
	r.Adoptions(parent, []pipeline.Outcome{failed})
	r.Adoptions(parent, []pipeline.Outcome{
		adoption("a", `"uid":"a"`), failed, adoption("b", `"uid":"b"`),
		adoption("c", `"uid":"c","ownerReferences":[`+
			`{"apiVersion":"ctl.example/v1alpha1","kind":"Web","name":"parent","uid":"u","controller":true}]`),
	})
	event := <-sent
	const want = "Adopted ConfigMap default/a, ConfigMap default/b: "
	if event.Reason != "Adopted" || !strings.HasPrefix(event.Message, want) {
		t.Errorf("the event is %s: %s", event.Reason, event.Message)
	}
}

func TestTheDeveloperModeTellsTheSameEachTime(t *testing.T) {
	for name, test := range map[string]struct {
		developer bool
		want      []string
	}{
		"with it":    {true, []string{"UnknownField", "DuplicateChild", "UnknownField", "DuplicateChild"}},
		"without it": {false, []string{"UnknownField", "DuplicateChild"}},
	} {
		t.Run(name, func(t *testing.T) {
			events, sent := eventsOf(t)
			r, reported := &Reporter{Tracker: NewTracker(), Events: events, Repeat: test.developer}, &Reported{}
			parent := configMap(t, "parent", `"uid":"u"`)
			for range 2 {
				r.Findings(reported, parent, []pipeline.Warning{
					{Reason: v1alpha1.ReasonUnknownField, Message: "a field"}, {Reason: v1alpha1.ReasonDuplicateChild, Message: "Pod b"},
				}, 0)
			}
			events.SyncError(parent, errors.New("the end"))
			for _, reason := range append(test.want, "SyncError") {
				if event := <-sent; event.Reason != reason {
					t.Errorf("the event is %s, want %s", event.Reason, reason)
				}
			}
		})
	}
}
