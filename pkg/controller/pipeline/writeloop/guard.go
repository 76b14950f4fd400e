// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"slices"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Guard finds and slows down the write loops of one hosted controller. It keeps the history of an
// object as long as the object might be in a write loop: about a minute after its last write. It is
// safe for concurrent use.
type Guard struct {
	mu        sync.Mutex
	histories map[target]*history
	looping   loopIndex
	deletions deletions
}

// target is what a write changes: a child, or one part of a parent. The same object may be both
// a parent and a child, if a controller has parents and children of the same type.
type target struct {
	object.Key
	// ofParent is the Op that writes the parent, empty for a child.
	ofParent pipeline.Op
}

// New returns a guard that has seen no write.
func New() *Guard { return &Guard{histories: map[target]*history{}, looping: loopIndex{}} }

func targetOf(step *pipeline.Step) target {
	at := target{Key: step.Key()}
	if step.Op.OnParent() {
		at.ofParent = step.Op
	}
	return at
}

// Postpone takes the writes out of a plan that it is too early for. The time now is when the
// sync began. The step of a child becomes a Keep, and a step of the parent is removed.
//
// It returns when the first of these writes is due, zero if there are none. Until then the
// finalizer stays on the parent too, unless the parent is being deleted.
//
// It also returns the loops to report: loops that were not reported before, or not for some time.
// The step of a reported loop may stay in the plan, if its time has just come.
func (g *Guard) Postpone(snapshot *pipeline.Snapshot, plan *pipeline.Plan, now time.Time) (next time.Time, report []pipeline.WriteLoop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.histories) == 0 {
		return next, nil
	}
	state := state{snapshot: snapshot}
	steps := plan.Steps[:0]
	for _, op := range parentOps {
		if !slices.ContainsFunc(plan.Steps, func(step pipeline.Step) bool { return step.Op == op }) {
			g.markUpToDate(target{Key: object.KeyOf(snapshot.Parent), ofParent: op})
		}
	}
	for _, step := range plan.Steps {
		history := g.historyOf(snapshot, targetOf(&step))
		if history == nil || step.RemovesFinalizer || step.Op == pipeline.Finalizer {
			steps = append(steps, step)
			continue
		}
		early, loops := g.attempt(history, &step, &state, now)
		report = append(report, loops...)
		if !early {
			steps = append(steps, step)
			continue
		}
		if next.IsZero() || history.loop.until.Before(next) {
			next = history.loop.until
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
	return next, report
}

// Fork returns a guard that decides about the steps of a plan as this one does, and that leaves nothing in
// it.
func (g *Guard) Fork(snapshot *pipeline.Snapshot, plan *pipeline.Plan) *Guard {
	g.mu.Lock()
	defer g.mu.Unlock()
	fork := New()
	copyOf := func(at target) {
		if of := g.histories[at]; of != nil && !of.isOfFormer(snapshot.Parent) {
			fork.histories[at] = of.clone()
		}
	}
	for _, op := range parentOps {
		copyOf(target{Key: object.KeyOf(snapshot.Parent), ofParent: op})
	}
	for i := range plan.Steps {
		copyOf(targetOf(&plan.Steps[i]))
	}
	return fork
}

// PostponeStep is Postpone for a step that is taken before the rest of its sync is planned: the
// one that puts the finalizer on the parent. It returns until when the step must wait, zero if
// it may be taken, and the loops to report.
func (g *Guard) PostponeStep(snapshot *pipeline.Snapshot, step *pipeline.Step, now time.Time) (until time.Time, report []pipeline.WriteLoop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	history := g.historyOf(snapshot, targetOf(step))
	if history == nil {
		return until, nil
	}
	early, report := g.attempt(history, step, &state{snapshot: snapshot}, now)
	if early {
		until = history.loop.until
	}
	return until, report
}

// historyOf returns the history of a target, nil if there is none. It drops the history if the target was last written for a
// former parent of the same name: that the new parent needs the same write is no sign of a write loop.
func (g *Guard) historyOf(snapshot *pipeline.Snapshot, at target) *history {
	of := g.histories[at]
	if of != nil && of.isOfFormer(snapshot.Parent) {
		delete(g.histories, at)
		return nil
	}
	return of
}

// attempt is attempt of the history of the step, and notes the loop that the step is in by now.
func (g *Guard) attempt(history *history, step *pipeline.Step, state *state, now time.Time) (early bool, report []pipeline.WriteLoop) {
	early, report = history.attempt(step, state, now)
	if history.loop != nil {
		g.looping.add(history.loop.Parent, targetOf(step))
	}
	return early, report
}

// markUpToDate notes that a target is as the hook wants it.
func (g *Guard) markUpToDate(at target) {
	if history := g.histories[at]; history != nil {
		history.wantedSince = time.Time{}
	}
}

// parentOps are the ways the parent is written.
var parentOps = slices.DeleteFunc(pipeline.Ops(), func(op pipeline.Op) bool { return !op.OnParent() })

// Wrote adds what a sync has written to the histories. The time now is after the writes.
func (g *Guard) Wrote(snapshot *pipeline.Snapshot, outcomes []pipeline.Outcome, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	state := state{snapshot: snapshot}
	for i := range outcomes {
		outcome := &outcomes[i]
		if !changed(outcome) {
			continue
		}
		at := targetOf(&outcome.Step)
		if outcome.Op == pipeline.Delete {
			if history := g.historyOf(snapshot, at); history != nil {
				history.desired = 0 // the hook does not want the child at all
			}
			g.deletions.add(at.Key, now)
			continue
		}
		of := g.historyOf(snapshot, at)
		if of == nil {
			of = &history{}
			g.histories[at] = of
		}
		of.wrote(&outcome.Step, &state, now)
	}
}

// changed reports whether a step has changed its object in a way that counts.
func changed(outcome *pipeline.Outcome) bool {
	if outcome.Err != nil || outcome.Conflict {
		return false
	}
	if outcome.Op.Deletes() {
		return true
	}
	return outcome.Op.FormsWriteLoops() && outcome.StoredAnew()
}
