// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// rolloutWaitThreshold is the time for which a rollout waits for the same reason before an event about it is
// written.
const rolloutWaitThreshold = time.Minute

// rolloutEvents is the state about rollout events that one sync of a parent passes to the next.
type rolloutEvents struct {
	// inProgress is true if there is a rollout and its start was noticed.
	inProgress bool
	// waitsFor says what the rollout waits for, empty if it does not wait; waitingSince is the time since when it
	// waits.
	waitsFor     string
	waitingSince time.Time
	waitEvents   deduplicator
}

// RolloutWaits reports whether the rollout waits for something.
func (r *Reported) RolloutWaits() bool { return r.rollout != nil && r.rollout.waitsFor != "" }

// Pause notes that the rollout does not wait for anything while the parent is paused.
func (r *Reported) Pause() {
	if r.rollout != nil {
		r.rollout.waitsFor = ""
	}
}

// Rollout writes an event when a rollout starts and when it is finished. It returns the time until
// another event may be due although nothing changes, zero if none may be, and the warning that the rollout
// has waited for long, if it has.
func (r *Reporter) Rollout(
	reported *Reported, parent *object.Object, decision *rollout.Decision, now time.Time,
) (next time.Duration, waiting []pipeline.Warning) {
	if reported.rollout == nil {
		reported.rollout = &rolloutEvents{}
	}
	events := reported.rollout
	updated := decision.Updated
	before := conditionStatus(parent, updated.Type)
	switch {
	case updated.Status == metav1.ConditionTrue:
		if events.inProgress || before == metav1.ConditionFalse {
			r.Events.RolloutFinished(parent, updated.Message)
		}
		*events = rolloutEvents{}
		return 0, nil
	case !events.inProgress:
		events.inProgress = true
		if before != metav1.ConditionFalse {
			r.Events.RolloutStarted(parent, updated.Message)
		}
	}
	if !decision.Waits {
		events.waitsFor = ""
		return 0, nil
	}
	if events.waitsFor != updated.Message {
		events.waitsFor, events.waitingSince = updated.Message, now
	}
	if waited := now.Sub(events.waitingSince); waited < rolloutWaitThreshold {
		return rolloutWaitThreshold - waited, nil
	}
	warning := pipeline.Warning{Reason: v1alpha1.ReasonRolloutWaiting, About: updated.Message,
		Message: "The rollout waits: " + cmp.Or(decision.Advice, updated.Message)}
	warning.EachTime = events.waitEvents.markIfDue(updated.Message, now)
	return pipeline.EventRepeatInterval, []pipeline.Warning{warning}
}

// conditionStatus returns the status of a condition of an object; empty if it has no such
// condition.
func conditionStatus(o *object.Object, conditionType string) metav1.ConditionStatus {
	var conditions []struct {
		Type   string                 `json:"type"`
		Status metav1.ConditionStatus `json:"status"`
	}
	if json.Unmarshal(o.Lookup("status", "conditions"), &conditions) != nil {
		return ""
	}
	for _, condition := range conditions {
		if condition.Type == conditionType {
			return condition.Status
		}
	}
	return ""
}
