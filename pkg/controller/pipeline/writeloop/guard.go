// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writeloop slows down what would be written for ever: a child that somebody else
// keeps changing back, and an answer that a hook changes with every call. It does no I/O,
// and the time is told to it.
package writeloop

import (
	"slices"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Guard watches over the writes of one hosted controller. It remembers an object for as
// long as it might be in a loop: about a minute after it was written. Its methods may be
// called at once.
type Guard struct {
	mu      sync.Mutex
	records map[target]*record
}

// target is what a write changes: a child, or of a parent its status or its metadata. An
// object may be both, where the parents and the children of a controller are of one type.
type target struct {
	pipeline.Key
	// ofParent is how a parent is written, empty for a child.
	ofParent pipeline.Op
}

// New makes a guard that has seen no write.
func New() *Guard { return &Guard{records: map[target]*record{}} }

func targetOf(step *pipeline.Step) target {
	at := target{Key: step.Key()}
	if step.Op.OnParent() {
		at.ofParent = step.Op
	}
	return at
}

// Postpone takes out of a plan the writes that it is too early for; now is when the sync
// began. Of a child that it holds back the plan keeps what there is; one of the parent is left out. Next is when
// the first of them may be written, zero if none is held back; the parent is not let go
// before that either, unless it is being deleted. News are the loops about which nothing
// was told yet, or not for a while; the plan may have steps of them, which it is just late enough for.
func (g *Guard) Postpone(snapshot *pipeline.Snapshot, plan *pipeline.Plan, now time.Time) (next time.Time, news []pipeline.WriteLoop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.records) == 0 {
		return next, nil
	}
	inputs := inputs{snapshot: snapshot}
	steps := plan.Steps[:0]
	for _, op := range parentOps {
		if !slices.ContainsFunc(plan.Steps, func(step pipeline.Step) bool { return step.Op == op }) {
			g.rests(target{Key: pipeline.KeyOf(snapshot.Parent), ofParent: op})
		}
	}
	for _, step := range plan.Steps {
		record := g.records[targetOf(&step)]
		if record == nil || step.RemovesFinalizer || step.Op == pipeline.Finalizer {
			steps = append(steps, step)
			continue
		}
		early, told := record.holds(&step, &inputs, now)
		news = append(news, told...)
		if !early {
			steps = append(steps, step)
			continue
		}
		if next.IsZero() || record.held.until.Before(next) {
			next = record.held.until
		}
		if !step.Op.OnParent() {
			step.Op, step.Body, step.Why = pipeline.Keep, nil, "it is written too often: "+step.Why
			steps = append(steps, step)
		}
	}
	plan.Steps = steps
	if !next.IsZero() {
		plan.Steps = slices.DeleteFunc(steps, func(step pipeline.Step) bool { return step.Op == pipeline.Finalizer })
	}
	return next, news
}

// PostponeStep tells until when it is too early for a step that is taken before the rest of its
// sync is planned: the one that has the controller hold the parent. It is zero if the step may be taken.
func (g *Guard) PostponeStep(snapshot *pipeline.Snapshot, step *pipeline.Step, now time.Time) (until time.Time, news []pipeline.WriteLoop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	record := g.records[targetOf(step)]
	if record == nil {
		return until, nil
	}
	early, news := record.holds(step, &inputs{snapshot: snapshot}, now)
	if early {
		until = record.held.until
	}
	return until, news
}

// rests notes that an object is as it should be.
func (g *Guard) rests(at target) {
	if record := g.records[at]; record != nil {
		record.wanted = time.Time{}
	}
}

// parentOps are the ways the parent is written.
var parentOps = slices.DeleteFunc(pipeline.Ops(), func(op pipeline.Op) bool { return !op.OnParent() })

// Wrote notes what a sync has written; now is when it had.
func (g *Guard) Wrote(snapshot *pipeline.Snapshot, outcomes []pipeline.Outcome, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	inputs := inputs{snapshot: snapshot}
	for i := range outcomes {
		outcome := &outcomes[i]
		if !changed(outcome) {
			continue
		}
		at := targetOf(&outcome.Step)
		if outcome.Op == pipeline.Delete {
			if record := g.records[at]; record != nil {
				record.wish = 0 // the hook does not want the child at all
			}
			continue
		}
		if g.records[at] == nil {
			g.records[at] = &record{}
		}
		g.records[at].wrote(&outcome.Step, &inputs, now)
	}
}

// changed tells whether a step has changed its object in a way that counts.
func changed(outcome *pipeline.Outcome) bool {
	if outcome.Err != nil || outcome.Conflict {
		return false
	}
	if outcome.Op.Deletes() {
		return true
	}
	return outcome.Op.FormsWriteLoops() && outcome.Result != nil &&
		(outcome.Observed == nil || outcome.Result.ResourceVersion != outcome.Observed.ResourceVersion)
}

// Loops returns what is being slowed down, and forgets what has come to rest.
func (g *Guard) Loops(now time.Time) []pipeline.WriteLoop {
	g.mu.Lock()
	defer g.mu.Unlock()
	var loops []pipeline.WriteLoop
	forgot := false
	for at, record := range g.records {
		if record.over(now) {
			delete(g.records, at)
			forgot = true
		} else if record.held != nil {
			loops = append(loops, record.held.WriteLoop)
		}
	}
	if forgot && len(g.records) == 0 {
		g.records = map[target]*record{} // the old one is as large as it ever was
	}
	return loops
}
