// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/scheme"
)

func TestAnErrorIsToldAgainOnlyAfterAWhile(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var last eventDeduplicator
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
func TestAdoptionsAreToldInOneEvent(t *testing.T) {
	config, sent := hostOf(t)
	ctx := context.WithoutCancel(t.Context())
	events, err := report.NewEvents(ctx, config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	c := &Controller{Dependencies: Dependencies{Events: events}}
	parent := configMap(t, "parent", `"uid":"u"`)
	adoption := func(name, more string) pipeline.Outcome {
		observed := configMap(t, name, more)
		return pipeline.Outcome{Result: observed, Step: pipeline.Step{
			Op: pipeline.Adopt, Type: object.Type{Kind: "ConfigMap"}, Observed: observed, Namespace: "default", Name: name,
		}}
	}
	failed := adoption("failed", `"uid":"f"`)
	failed.Result = nil
	c.reportAdoptions(parent, []pipeline.Outcome{failed})
	c.reportAdoptions(parent, []pipeline.Outcome{
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

// Retries find the same name conflicts. An event for each retry would use up the events that a
// parent may have.
func TestTakenNamesAreToldOnce(t *testing.T) {
	config, sent := hostOf(t)
	events, err := report.NewEvents(context.WithoutCancel(t.Context()), config, scheme.Scheme, report.EventOptions{QPS: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(events.Shutdown)
	c := &Controller{Dependencies: Dependencies{Events: events}}
	state, parent := &parentState{}, configMap(t, "parent", `"uid":"u"`)
	outcomes := []pipeline.Outcome{nameTaken("b", nil), nameTaken("a", nil)}
	for range 3 {
		c.reportNameConflicts(state, parent, nameConflictError(outcomes, &pipeline.Snapshot{Parent: parent}))
		slices.Reverse(outcomes)
	}
	c.reportNameConflicts(state, parent, nil)
	events.SyncError(parent, errors.New("the end"))
	event := <-sent
	if event.Reason != "ChildNameTaken" || !strings.Contains(event.Message, ": Pod default/a, Pod default/b; ") {
		t.Errorf("the event is %s: %s", event.Reason, event.Message)
	}
	if event := <-sent; event.Reason != "SyncError" {
		t.Errorf("there is another event %s: %s", event.Reason, event.Message)
	}
}
