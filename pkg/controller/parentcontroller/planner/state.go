// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
)

// State is the state of a parent that planning keeps between two syncs. Its user makes sure that it is used by one
// at a time.
type State struct {
	// UpToDate are the children that are known to need no update.
	UpToDate plan.UpToDateCache
	NoOp     NoOp
	// answer is the answer of the customize hook; nil if there is no such hook.
	answer *related.Answer
	// rollout is nil if the controller rolls out nothing.
	rollout *rolloutState
}

// rolloutState is the state of a rollout that planning keeps between two syncs.
type rolloutState struct {
	versions rollout.RevisionCache
	// earlierAnswers are the answers of the customize hook about earlier versions of the parent, by
	// the names of their revisions.
	earlierAnswers map[string]*related.Answer
}

// CopyForPreview returns, for a preview, a copy of the state that plans depend on, without the answers of hooks.
func (s *State) CopyForPreview() *State {
	copied := &State{UpToDate: s.UpToDate.Clone()}
	if s.rollout != nil {
		copied.ensureRollout().versions = s.rollout.versions
	}
	return copied
}

// CustomizeWarnings returns the warnings about the last answer of the customize hook.
func (s *State) CustomizeWarnings() []pipeline.Warning { return s.answer.Warnings() }

// Wrote records the writes of a plan: after is the time until postponed steps are due. If nothing was left to write,
// the same response is not planned again while the other inputs of the plan stay the same.
func (s *State) Wrote(responses *Responses, response *pipeline.Response, planned *pipeline.Plan,
	outcomes []pipeline.Outcome, after time.Duration) {
	s.UpToDate.Wrote(outcomes)
	if responses.Rollout == nil {
		s.NoOp.remember(responses.planInputs, response, planned, outcomes, after)
	}
}

// ensureRollout returns the state of the rollout, and makes an empty one if there is none.
func (s *State) ensureRollout() *rolloutState {
	if s.rollout == nil {
		s.rollout = &rolloutState{}
	}
	return s.rollout
}

// keepEarlierAnswers makes earlierAnswers have one answer for each of the revisions. It returns the answers that
// belong to no revision.
func (r *rolloutState) keepEarlierAnswers(revisions []*rollout.Revision) (gone []*related.Answer) {
	kept := make(map[string]*related.Answer, len(revisions))
	for _, revision := range revisions {
		kept[revision.Name] = cmp.Or(r.earlierAnswers[revision.Name], &related.Answer{})
		delete(r.earlierAnswers, revision.Name)
	}
	gone = slices.Collect(maps.Values(r.earlierAnswers))
	r.earlierAnswers = kept
	return gone
}

// answers returns all answers of the customize hook.
func (s *State) answers() (all []*related.Answer) {
	if s.answer != nil {
		all = append(all, s.answer)
	}
	if s.rollout != nil {
		all = slices.AppendSeq(all, maps.Values(s.rollout.earlierAnswers))
	}
	return all
}

// NoOp is the last response about a parent that left nothing to write, with the hash of the
// other inputs of its plan. While these inputs stay, the same response leaves nothing to write
// again. It is then neither decoded nor planned.
type NoOp struct {
	pipeline.NoOp
	planInputs uint64
	// Known is true if there is such a response.
	Known bool
}

// matching returns the response if the inputs of a plan are the same as when it was remembered,
// else nil.
func (r *NoOp) matching(planInputs uint64) *pipeline.NoOp {
	if !r.Known || r.planInputs != planInputs {
		return nil
	}
	return &r.NoOp
}

// remember keeps a response if its plan left nothing to write: no step was taken and none is
// postponed (after is zero), and no child was refused.
func (r *NoOp) remember(planInputs uint64, response *pipeline.Response, planned *pipeline.Plan,
	outcomes []pipeline.Outcome, after time.Duration) {
	if len(outcomes) == 0 && after == 0 && len(planned.Refused) == 0 {
		*r = NoOp{pipeline.NoOp{Answer: response.Hash, ResyncAfter: response.ResyncAfter}, planInputs, true}
	}
}
