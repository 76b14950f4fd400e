// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Record is the data about the last sync of a parent that its Sync shows. There is one for each parent, so it is small.
// Its methods may be called concurrently.
type Record struct {
	mu   sync.Mutex
	last summary
}

// Sync is the result of a sync of a parent.
type Sync struct {
	// Started is the time at which the sync began.
	Started time.Time
	// Generation is the generation of the parent.
	Generation int64
	Children   ChildCounts
	// Note is nil if the health of the controller says everything.
	Note *Note
}

// summary is the part of a Record about one sync.
type summary struct {
	// ended is when the sync ended, and since is when synced got its value, in nanoseconds since 1970; zero before the
	// first sync.
	ended, since int64
	took         time.Duration
	// generation is the generation of the parent.
	generation int64
	children   ChildCounts
	// synced is True if the parent is as its hook wants, Unknown if it is paused or was not synced yet.
	synced metav1.ConditionStatus
	// note is nil if the health of the controller says everything.
	note *Note
}

// ChildCounts counts the children of a parent. They are not known before a plan was made.
type ChildCounts struct {
	Wanted, AsWanted, Outdated int32
	Known                      bool
}

// Note says that a sync has succeeded, or has ended without success and without a failure, and that the parent is
// not yet as its hook wants.
type Note struct {
	// State is Progressing or Waiting.
	State v1alpha1.SyncState
	// Text says what is in progress, or what the parent waits for.
	Text string
}

// get returns the result of the last sync.
func (r *Record) get() summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// set notes the result of a sync. Since is set here.
func (r *Record) set(next summary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next.since = r.last.since
	if next.synced != r.last.synced {
		next.since = next.ended
	}
	r.last = next
}

// Pause records that the parent is paused. It keeps the result of the last sync.
func (r *Record) Pause(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last.synced != metav1.ConditionUnknown {
		r.last.synced, r.last.since = metav1.ConditionUnknown, now.UnixNano()
	}
	r.last.note = nil
}

// CountChildren counts the children after the steps of a plan were taken. kept counts those that needed no step, and
// behind those that a rollout leaves at an earlier version of the parent.
func CountChildren(planned *pipeline.Plan, outcomes []pipeline.Outcome, kept, behind int) ChildCounts {
	written := 0
	for i := range outcomes {
		if outcome := &outcomes[i]; isAsWanted(outcome) {
			written++
		}
	}
	return ChildCounts{
		Wanted: int32(planned.Desired), AsWanted: int32(max(kept+written-planned.Outdated-behind, 0)),
		Outdated: int32(planned.Outdated), Known: true,
	}
}

// isAsWanted reports whether a child is in its desired state after a step.
func isAsWanted(outcome *pipeline.Outcome) bool {
	if outcome.Err != nil || outcome.Conflict || outcome.NameConflict {
		return false
	}
	return outcome.Op.YieldsDesired() || outcome.Op == pipeline.ToDynamicApply || outcome.Op == pipeline.ToServerSideApply
}

// CountKept returns how many children a plan leaves as they are. One that is being deleted does not count.
func CountKept(planned *pipeline.Plan) (kept int) {
	for i := range planned.Steps {
		if step := &planned.Steps[i]; step.Op == pipeline.Keep && step.Observed.DeletionTimestamp == nil {
			kept++
		}
	}
	return kept
}
