// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// rolloutWaitThreshold is how long a rollout waits for the same before people are told.
const rolloutWaitThreshold = time.Minute

// rolloutEvents is what is remembered of a parent's rollout to tell about it.
type rolloutEvents struct {
	// inProgress tells that there is one, which people were told of.
	inProgress bool
	// waitsFor is what it waits for, and since when.
	waitsFor     string
	waitingSince time.Time
	waitEvents   eventDeduplicator
}

// reportRollout has events written when a rollout begins, has waited for long, and is over. It
// returns after what time there may be something to tell that no change leads to; zero is
// never.
func (c *Controller) reportRollout(state *parentState, parent *object.Object, decision *rollout.Decision, now time.Time) (next time.Duration) {
	news := &state.ensureRollout().events
	updated := decision.Updated
	before := conditionStatus(parent, updated.Type)
	switch {
	case updated.Status == metav1.ConditionTrue:
		if news.inProgress || before == metav1.ConditionFalse {
			c.Events.RolloutFinished(parent, updated.Message)
		}
		*news = rolloutEvents{}
		return 0
	case !news.inProgress:
		news.inProgress = true
		if before != metav1.ConditionFalse {
			c.Events.RolloutStarted(parent, updated.Message)
		}
	}
	if !decision.Waits {
		news.waitsFor = ""
		return 0
	}
	if news.waitsFor != updated.Message {
		news.waitsFor, news.waitingSince = updated.Message, now
	}
	if waited := now.Sub(news.waitingSince); waited < rolloutWaitThreshold {
		return rolloutWaitThreshold - waited
	}
	if news.waitEvents.markIfDue(updated.Message, now) {
		c.Events.RolloutWaiting(parent, updated.Message)
	}
	return pipeline.EventRepeatInterval
}

// conditionStatus is what an object's status says of a condition; empty if nothing.
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

// confirmsChild tells whether it is known only by a step that a child is as it should be. A rollout that
// waits for the child can go on then, and if the step has changed nothing no event tells.
func confirmsChild(outcome pipeline.Outcome) bool {
	return outcome.Result != nil && (outcome.Op == pipeline.Keep || outcome.Op == pipeline.Apply)
}
