// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"time"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// eventDeduplicator is the last event of one sort about a parent. A retry that fails like the one
// before writes no event. The host takes a limited number of events about a parent, so events about
// retries would keep the next error from being seen.
type eventDeduplicator struct {
	message uint64 // its hash
	at      int64  // in seconds since 1970
}

// markIfDue returns false if the last event had the same message and is recent. Otherwise it
// returns true and keeps the message as that of the last event.
func (e *eventDeduplicator) markIfDue(message string, now time.Time) bool {
	next := eventDeduplicator{message: xxhash.Sum64String(message), at: now.Unix()}
	since := next.at - e.at // negative if the clock was put back
	if next.message == e.message && since >= 0 && since < int64(pipeline.EventRepeatInterval.Seconds()) {
		return false
	}
	*e = next
	return true
}

// isDue reports whether an event of this message is written: a repeated one only after a while or, in
// the developer's mode, each time.
func (c *Controller) isDue(events *eventDeduplicator, message string) bool {
	return events.markIfDue(message, time.Now()) || c.DeveloperMode
}

// reportNameConflicts writes one event about all children whose names other objects have. The error is
// nil if there are none.
func (c *Controller) reportNameConflicts(state *parentState, parent *object.Object, err error) {
	if err != nil && c.isDue(&state.nameConflictEvents, err.Error()) {
		c.Events.NameConflict(parent, err)
	}
}

// reportAdoptions writes one event about all objects that a sync has adopted. It is not about children that a reference
// of another version already made the parent's.
func (c *Controller) reportAdoptions(parent *object.Object, outcomes []pipeline.Outcome) {
	var adopted []string
	for i := range outcomes {
		outcome := &outcomes[i]
		if outcome.Op == pipeline.Adopt && outcome.Result != nil && metav1.GetControllerOfNoCopy(outcome.Observed) == nil {
			adopted = append(adopted, outcome.Key().String())
		}
	}
	if len(adopted) > 0 {
		c.Events.Adopted(parent, enumerate.First(maxListed, adopted))
	}
}

// reportWriteLoops writes an event about the write loops of a parent, if there are any. The guard
// returns a loop only when an event about it is due.
func (c *Controller) reportWriteLoops(parent *object.Object, loops []pipeline.WriteLoop, now time.Time) {
	if len(loops) > 0 {
		c.addRivals(loops)
		c.Events.WriteLoop(parent, loops, now)
	}
}
