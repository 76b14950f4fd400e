// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

func decided(status metav1.ConditionStatus, message string, waits bool) *rollout.Decision {
	return &rollout.Decision{Updated: metav1.Condition{Type: rollout.ConditionType, Status: status, Message: message}, Waits: waits}
}

func TestWhatIsReportedOfARollout(t *testing.T) {
	const missing, failing = "missing child Pod a", "child Pod a failed"
	var (
		moves   = decided(metav1.ConditionFalse, "updating Pod a", false)
		waits   = decided(metav1.ConditionFalse, missing, true)
		fails   = decided(metav1.ConditionFalse, failing, true)
		advised = func() *rollout.Decision {
			decision := *fails
			decision.Advice = "correct the check"
			return &decision
		}()
		isOver = decided(metav1.ConditionTrue, "latest", false)
	)
	type step struct {
		after    time.Duration // since the step before
		before   string        // what the parent's status says
		decision *rollout.Decision
		next     time.Duration
	}
	tests := map[string]struct {
		steps []step
		want  []string
	}{
		"a parent that never rolled out anything": {
			steps: []step{{0, "", isOver, 0}, {time.Hour, "True", isOver, 0}},
		},
		"a rollout from its beginning to its end": {
			steps: []step{{0, "True", moves, 0}, {time.Second, "False", waits, time.Minute}, {time.Second, "False", isOver, 0}, {time.Second, "True", isOver, 0}},
			want:  []string{"RolloutStarted: Rolling out a change: updating Pod a", "RolloutFinished: The rollout is finished: latest"},
		},
		"one that was under way when the server started": {
			steps: []step{{0, "False", waits, time.Minute}, {time.Second, "False", isOver, 0}},
			want:  []string{"RolloutFinished: The rollout is finished: latest"},
		},
		"one that came to its end while the server was down": {
			steps: []step{{0, "False", isOver, 0}},
			want:  []string{"RolloutFinished: The rollout is finished: latest"},
		},
		"one that waits for long": {
			steps: []step{
				{0, "True", waits, time.Minute},
				{59 * time.Second, "False", waits, time.Second},
				{time.Second, "False", waits, pipeline.EventRepeatInterval},
				{time.Minute, "False", waits, pipeline.EventRepeatInterval},
			},
			want: []string{"RolloutStarted: Rolling out a change: " + missing, "RolloutWaiting: The rollout waits: " + missing},
		},
		"one that waits for a status check": {
			steps: []step{{0, "False", advised, time.Minute}, {time.Minute, "False", advised, pipeline.EventRepeatInterval}},
			want:  []string{"RolloutWaiting: The rollout waits: correct the check"},
		},
		"one that waits for ever": {
			steps: []step{
				{0, "False", fails, time.Minute}, {time.Minute, "False", fails, pipeline.EventRepeatInterval}, {pipeline.EventRepeatInterval, "False", fails, pipeline.EventRepeatInterval},
			},
			want: []string{"RolloutWaiting: The rollout waits: " + failing, "RolloutWaiting: The rollout waits: " + failing},
		},
		"one that waits for one thing after another": {
			steps: []step{
				{0, "False", waits, time.Minute}, {40 * time.Second, "False", fails, time.Minute},
				{40 * time.Second, "False", fails, 20 * time.Second}, {20 * time.Second, "False", fails, pipeline.EventRepeatInterval},
			},
			want: []string{"RolloutWaiting: The rollout waits: " + failing},
		},
		"one that moves on in between": {
			steps: []step{
				{0, "False", waits, time.Minute}, {40 * time.Second, "False", moves, 0}, {40 * time.Second, "False", waits, time.Minute},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			events, sent := eventsOf(t)
			r := &Reporter{Tracker: NewTracker(), Events: events}
			reported, now := &Reported{}, time.Unix(0, 0)
			for i, step := range test.steps {
				now = now.Add(step.after)
				next, waiting := r.Rollout(reported, withUpdated(t, step.before), step.decision, now)
				if next != step.next {
					t.Errorf("after step %d the next is due in %v, want %v", i, next, step.next)
				}
				r.Findings(reported, withUpdated(t, step.before), waiting, 0)
				if warns := next == pipeline.EventRepeatInterval; warns != (r.warned == 1) {
					t.Errorf("after step %d the parent is warned: %v", i, !warns)
				}
			}
			events.SyncError(withUpdated(t, ""), errors.New("the end"))
			var written []string
			for event := range sent {
				if event.Reason == "SyncError" {
					break
				}
				written = append(written, event.Reason+": "+event.Message)
			}
			if !slices.Equal(written, test.want) {
				t.Errorf("reported was %q, want %q", written, test.want)
			}
		})
	}
}
