// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Guard detects and slows down the write loops of one parent controller. It keeps the history of an object while the
// object might be in a write loop: about a minute after its last write. It is safe for concurrent use.
type Guard struct {
	mu        sync.Mutex
	histories map[target]*history
	looping   loopIndex
	deletions deletions
}

// target is the object that a write changes: a child, or one part of a parent. The same object may be both a parent and
// a child, if a controller has parents and children of the same type.
type target struct {
	object.Key
	// as is the Op that writes the parent, or adopts, releases or deletes the child; empty for writes of the child's
	// content. See also churnTarget.
	as pipeline.Op
}

// New returns a guard without histories.
func New() *Guard { return &Guard{histories: map[target]*history{}, looping: loopIndex{}} }

func targetOf(step *pipeline.Step) target {
	at := target{Key: step.Key()}
	switch step.Op {
	case pipeline.Adopt, pipeline.Release, pipeline.Delete:
		at.as = step.Op
	default:
		if step.Op.OnParent() {
			at.as = step.Op
		}
	}
	return at
}

// Postpone removes the writes that must wait from a plan. now is the time at which the sync began. The step of a
// child becomes a Keep, and a step of the parent is removed.
//
// It returns the time when the first of these writes is due; zero if there are none. Until then, the finalizer also
// stays on the parent, unless the parent is being deleted.
//
// It also returns the loops to report: those that were not reported before, or not for some time. The step of a
// reported loop stays in the plan if it is due.
func (g *Guard) Postpone(
	snapshot *pipeline.Snapshot, plan *pipeline.Plan, now time.Time,
) (next time.Time, report []pipeline.WriteLoop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.histories) == 0 {
		return next, nil
	}
	state := state{snapshot: snapshot}
	steps := plan.Steps[:0]
	for _, op := range parentOps {
		if !slices.ContainsFunc(plan.Steps, func(step pipeline.Step) bool { return step.Op == op }) {
			g.markUpToDate(target{Key: object.KeyOf(snapshot.Parent), as: op})
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
		next = earlier(next, history.loop.until)
		if !step.Op.OnParent() {
			steps = append(steps, postponed(step))
		}
	}
	plan.Steps = steps
	until, loops := g.postponeChurn(plan, &state, now)
	next, report = earlier(next, until), append(report, loops...)
	g.markAbsent(plan, &state, now)
	if !next.IsZero() {
		plan.Steps = slices.DeleteFunc(steps, func(step pipeline.Step) bool { return step.Op == pipeline.Finalizer })
	}
	return next, report
}

// postponed returns the Keep step that replaces a step while the child must wait.
func postponed(step pipeline.Step) pipeline.Step {
	step.Op, step.Body, step.Why = pipeline.Keep, nil, "the server throttles its writes: "+step.Why
	return step
}

// earlier returns the earlier of two times. A zero time does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// PostponeStep is Postpone for the step that is taken before the plan is made: the one that adds the finalizer to the
// parent. It returns the time until which the step must wait, zero if it need not wait, and the loops to report.
func (g *Guard) PostponeStep(
	snapshot *pipeline.Snapshot, step *pipeline.Step, now time.Time,
) (until time.Time, report []pipeline.WriteLoop) {
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

// historyOf returns the history of a target; nil if there is none. It drops the history if the target was last
// written for an earlier parent of the same name, because the same write for the new parent is not a sign of a
// write loop.
func (g *Guard) historyOf(snapshot *pipeline.Snapshot, at target) *history {
	of := g.histories[at]
	if of != nil && of.isOfFormer(snapshot.Parent) {
		delete(g.histories, at)
		return nil
	}
	return of
}

// attempt calls attempt of the step's history, and indexes the loop of the step if there is one.
func (g *Guard) attempt(
	history *history, step *pipeline.Step, state *state, now time.Time,
) (early bool, report []pipeline.WriteLoop) {
	early, report = history.attempt(step, state, now)
	if history.loop != nil {
		g.looping.add(history.loop.Parent, targetOf(step))
	}
	return early, report
}

// markUpToDate records that a target is as the hook wants it.
func (g *Guard) markUpToDate(at target) {
	if history := g.histories[at]; history != nil {
		history.wantedSince = time.Time{}
	}
}

// markAbsent records for the loops of the parent which targets the plan does not have, because the hook no longer
// wants them.
func (g *Guard) markAbsent(plan *pipeline.Plan, state *state, now time.Time) {
	parent := object.KeyOf(state.snapshot.Parent)
	if len(g.looping[parent]) == 0 {
		return
	}
	wanted := sets.New[object.Key]()
	for i := range plan.Steps {
		wanted.Insert(plan.Steps[i].Key())
	}
	for at := range g.looping[parent] {
		if history := g.histories[at]; history != nil && at.as == "" && !wanted.Has(at.Key) {
			history.noteDesired(absent, state.full(), now)
		}
	}
}

// parentOps are the ops that write the parent.
var parentOps = slices.DeleteFunc(pipeline.Ops(), func(op pipeline.Op) bool { return !op.OnParent() })

// Wrote adds the writes of a sync to the histories. The time now is after the writes.
func (g *Guard) Wrote(snapshot *pipeline.Snapshot, outcomes []pipeline.Outcome, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	state := state{snapshot: snapshot}
	g.wroteChurn(outcomes, &state, now)
	for i := range outcomes {
		outcome := &outcomes[i]
		if !changed(outcome) {
			continue
		}
		at := targetOf(&outcome.Step)
		switch {
		case outcome.Op == pipeline.Delete:
			if history := g.historyOf(snapshot, target{Key: at.Key}); history != nil {
				history.desired = 0 // the hook does not want the child at all
			}
			g.deletions.add(at.Key, now)
		case outcome.Creates():
			delete(g.histories, target{Key: at.Key, as: pipeline.Delete}) // the hook wants it
		}
		of := g.historyOf(snapshot, at)
		if of == nil {
			of = &history{}
			g.histories[at] = of
		}
		of.wrote(&outcome.Step, &state, now)
	}
}

// changed reports whether a step has changed its object in a way that may be part of a write loop.
func changed(outcome *pipeline.Outcome) bool {
	if outcome.Err != nil || outcome.Conflict {
		return false
	}
	if outcome.Op.Deletes() {
		return true
	}
	return outcome.Op.FormsWriteLoops() && outcome.StoredNewVersion()
}

// Forgive drops the loops of a parent, because a user has requested a sync.
func (g *Guard) Forgive(parent object.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for at := range g.looping[parent] {
		delete(g.histories, at)
	}
	delete(g.looping, parent)
}

// Fork returns a copy of the guard that makes the same decisions about the steps of a plan.
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
		copyOf(target{Key: object.KeyOf(snapshot.Parent), as: op})
	}
	for i := range plan.Steps {
		copyOf(targetOf(&plan.Steps[i]))
		copyOf(churnTarget(snapshot.Parent, plan.Steps[i].Type.GroupKind()))
	}
	return fork
}

// maxHistories is the number of histories above which histories of creations are kept for only a minute.
const maxHistories = 10_000

// Loops returns the write loops that are slowed down, and drops the histories of objects that are no longer written.
func (g *Guard) Loops(now time.Time) []pipeline.WriteLoop {
	g.mu.Lock()
	defer g.mu.Unlock()
	var loops []pipeline.WriteLoop
	dropped, tooMany := false, len(g.histories) > maxHistories
	for at, history := range g.histories {
		if history.isOver(now) || tooMany && history.loop == nil && now.Sub(history.last) > calm {
			delete(g.histories, at)
			dropped = true
		} else if history.loop != nil {
			loops = append(loops, history.loop.WriteLoop)
		}
	}
	for parent := range g.looping {
		g.historiesOf(parent) // drops targets that are no longer in loops
	}
	g.deletions.forget(now)
	if dropped && len(g.histories) == 0 {
		g.histories, g.looping = map[target]*history{}, loopIndex{} // a map does not shrink
	}
	return loops
}

// LoopsOf returns the write loops of one parent that are slowed down.
func (g *Guard) LoopsOf(parent object.Key, now time.Time) (loops []pipeline.WriteLoop) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, history := range g.historiesOf(parent) {
		if !history.isOver(now) {
			loops = append(loops, history.loop.WriteLoop)
		}
	}
	return loops
}

// RecheckAfter returns the time after which to call the hook again, to see whether a loop of a parent has ended
// early: without that call, it ends after the given time. The result is some seconds, and more if that time is
// long or many parents are in loops.
func (g *Guard) RecheckAfter(over time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return min(over, max(3*time.Second, over/20, time.Duration(len(g.looping))*500*time.Millisecond))
}

// LoopsEnd returns the time when all write loops of a parent will have ended if nothing more is written; zero if it
// has none.
func (g *Guard) LoopsEnd(parent object.Key) (end time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, history := range g.historiesOf(parent) {
		end = latest(end, history.end())
	}
	return end
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// historiesOf returns the histories of the loops of a parent. The caller must hold the lock.
func (g *Guard) historiesOf(parent object.Key) (found []*history) {
	for at := range g.looping[parent] {
		history := g.histories[at]
		if history == nil || history.loop == nil || history.loop.Parent != parent {
			g.looping.remove(parent, at)
			continue
		}
		found = append(found, history)
	}
	return found
}

// loopIndex has the targets that are in loops, by the parents of the loops. A target stays until a lookup finds that
// it is no longer in a loop of the parent.
type loopIndex map[object.Key]sets.Set[target]

func (i loopIndex) add(parent object.Key, at target) {
	if i[parent] == nil {
		i[parent] = sets.New[target]()
	}
	i[parent].Insert(at)
}

func (i loopIndex) remove(parent object.Key, at target) {
	i[parent].Delete(at)
	if len(i[parent]) == 0 {
		delete(i, parent)
	}
}
