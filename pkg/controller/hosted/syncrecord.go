// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// syncRecord is what is kept of the last sync of a parent for those who look at Syncs. There is one for each parent,
// so it has a few words. Its methods may be called concurrently.
type syncRecord struct {
	mu   sync.Mutex
	last syncSummary
}

// syncSummary is what the last sync of a parent came to.
type syncSummary struct {
	// ended is when it ended, and since is when synced got its value, in nanoseconds since 1970; zero before the first sync.
	ended, since int64
	took         time.Duration
	// generation is that of the parent.
	generation int64
	children   childCounts
	// synced is True if the parent is as its hook wants, Unknown if it is paused or was not synced yet.
	synced metav1.ConditionStatus
	// note is nil if there is nothing to say that the health of the controller does not know.
	note *syncNote
}

// childCounts counts the children of a parent. They are not known before a plan was made.
type childCounts struct {
	wanted, asWanted, outdated int32
	known                      bool
}

// syncNote says that a sync has succeeded, or has ended without success and without a failure, and that the parent is
// not yet as its hook wants.
type syncNote struct {
	// state is Progressing or Waiting.
	state v1alpha1.SyncState
	// text says what goes on, or what is waited for.
	text string
}

// get returns what the last sync came to.
func (r *syncRecord) get() syncSummary {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// set notes the result of a sync. Since is set here.
func (r *syncRecord) set(next syncSummary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next.since = r.last.since
	if next.synced != r.last.synced {
		next.since = next.ended
	}
	r.last = next
}

// pause notes that the parent is paused. What its last sync came to stays.
func (r *syncRecord) pause(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.synced != metav1.ConditionUnknown {
		r.last.synced, r.last.since = metav1.ConditionUnknown, now.UnixNano()
	}
	r.last.note = nil
}

// record keeps what a sync that began at started came to.
func (c *Controller) record(key object.Key, state *parentState, note *syncNote, outcomes []pipeline.Outcome, started time.Time) {
	ended := time.Now()
	next := syncSummary{
		ended: ended.UnixNano(), took: ended.Sub(started), generation: state.generation, children: state.children,
		synced: metav1.ConditionTrue, note: note,
	}
	if note != nil || c.health.isFailing(key) {
		next.synced = metav1.ConditionFalse
	}
	state.record.set(next)
	c.steps.add(key, slices.Concat(state.finalizerSteps, outcomes), ended)
	state.finalizerSteps = nil
}

// countChildren counts the children after the steps of a plan were taken. kept is how many of them needed no step, and behind
// is how many a rollout leaves at an earlier version of the parent.
func countChildren(planned *pipeline.Plan, outcomes []pipeline.Outcome, kept, behind int) childCounts {
	written := 0
	for i := range outcomes {
		if outcome := &outcomes[i]; isAsWanted(outcome) {
			written++
		}
	}
	return childCounts{
		wanted: int32(planned.Desired), asWanted: int32(max(kept+written-planned.Outdated-behind, 0)),
		outdated: int32(planned.Outdated), known: true,
	}
}

// isAsWanted reports whether a step has made a child what the hook wants.
func isAsWanted(outcome *pipeline.Outcome) bool {
	if outcome.Err != nil || outcome.Conflict || outcome.NameConflict {
		return false
	}
	return outcome.Op.YieldsDesired() || outcome.Op == pipeline.ToDynamicApply || outcome.Op == pipeline.ToServerSideApply
}

// countKept returns how many children a plan leaves as they are. One that is being deleted does not count.
func countKept(planned *pipeline.Plan) (kept int) {
	for i := range planned.Steps {
		if step := &planned.Steps[i]; step.Op == pipeline.Keep && step.Observed.DeletionTimestamp == nil {
			kept++
		}
	}
	return kept
}
