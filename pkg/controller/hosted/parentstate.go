// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe/related"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/plan"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/report"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/rollout"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// parentState is what one sync of a parent leaves to the next. Only the worker that
// syncs the parent uses it. There are as many as parents, so what few of them need is apart.
type parentState struct {
	// uid is whose memory it is; empty before the first sync.
	uid     types.UID
	pending observe.Pending
	// unseenSince is since when the caches have not shown the last writes; zero if they have.
	unseenSince time.Time
	upToDate    plan.UpToDateCache
	noOp        knownNoOp
	// customizeAnswer is the customize hook's answer; nil if there is no such hook.
	customizeAnswer *related.Answer
	// rollout is about the rollout of the parent's children; nil if its controller rolls nothing.
	rollout *rolloutState
	// syncErrorEvents is about the last error, taken about the children whose names are taken,
	// duplicates about the children that were last listed twice.
	syncErrorEvents, nameConflictEvents, duplicateEvents eventDeduplicator
}

// rolloutState is what is remembered of a rollout.
type rolloutState struct {
	revisions revisions.Pending
	versions  rollout.Known
	events    rolloutEvents
	// earlierAnswers are what related is about earlier versions of the parent, by the names of
	// their revisions.
	earlierAnswers map[string]*related.Answer
}

// ensureRollout returns what is remembered of the rollout, which is nothing at first.
func (m *parentState) ensureRollout() *rolloutState {
	if m.rollout == nil {
		m.rollout = &rolloutState{}
	}
	return m.rollout
}

// keepEarlierAnswers has earlier hold an answer about each of the revisions, and returns those that
// are about none of them.
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

// customizeAnswers are those of the customize hook.
func (m *parentState) customizeAnswers() (all []*related.Answer) {
	if m.customizeAnswer != nil {
		all = append(all, m.customizeAnswer)
	}
	if m.rollout != nil {
		all = slices.AppendSeq(all, maps.Values(m.rollout.earlierAnswers))
	}
	return all
}

// parents holds what is known of each parent.
type parents struct {
	mu    sync.Mutex
	byKey map[pipeline.Key]*parentState
	// synced tells of each parent that was synced whether it went well, and failing counts
	// those of which it did not.
	synced    map[pipeline.Key]bool
	failing   int
	lastError *report.ParentError

	// total counts the parents that the watches have told of so far. Counting them anew for
	// every status would cost the more the more there are.
	total atomic.Int64
}

func newParents() *parents {
	return &parents{
		byKey:  map[pipeline.Key]*parentState{},
		synced: map[pipeline.Key]bool{},
	}
}

func (p *parents) get(parent pipeline.Key) *parentState {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.byKey[parent]
	if known == nil {
		known = &parentState{}
		p.byKey[parent] = known
	}
	return known
}

func (p *parents) forget(parent pipeline.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byKey, parent)
	p.drop(parent)
	if last := p.lastError; last != nil && last.Parent == parent && last.Recovered.IsZero() {
		p.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time, Recovered: time.Now()}
	}
}

// record notes how a sync went. One that was put off, by the hook, by related objects
// that are not listed yet, by somebody who changed the parent meanwhile or because the
// parent is written too often, has not gone at all. Of one whose hook is down the call that
// was not answered tells more.
func (p *parents) record(parent pipeline.Key, err error) {
	if isThrottled(err) || isWaiting(err) || errors.Is(err, errConflict) || isTooEarly(err) {
		return
	}
	_, down := errors.AsType[*hook.CircuitOpenError](err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(parent)
	p.synced[parent] = err == nil
	if err != nil {
		p.failing++
	}
	switch last := p.lastError; {
	case err != nil && !down:
		p.lastError = &report.ParentError{Parent: parent, Message: err.Error(), Time: time.Now()}
	case err == nil && last != nil && last.Parent == parent && last.Recovered.IsZero():
		p.lastError = &report.ParentError{Parent: parent, Message: last.Message, Time: last.Time, Recovered: time.Now()}
	}
}

// drop takes out how the last sync of a parent went.
func (p *parents) drop(parent pipeline.Key) {
	if well, synced := p.synced[parent]; synced && !well {
		p.failing--
	}
	delete(p.synced, parent)
}

func isThrottled(err error) bool {
	_, later := errors.AsType[*hook.ThrottledError](err)
	return later
}

func isTooEarly(err error) bool {
	_, early := errors.AsType[*finalizerPostponedError](err)
	return early
}

func isWaiting(err error) bool {
	_, waiting := errors.AsType[*related.Waiting](err)
	return waiting
}

// forget drops all that is known of a parent that is gone.
func (c *Controller) forget(parent pipeline.Key, state *parentState) {
	c.parents.forget(parent)
	c.hookCalls.forget(parent)
	c.nameConflicts.set(parent, nil)
	for _, answer := range state.customizeAnswers() {
		c.forgetAnswer(answer)
	}
}
