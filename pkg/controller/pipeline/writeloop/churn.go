// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Churn: the syncs of a parent create and delete children of a kind again and again although nothing else
// changes, because the hook gives them other names in each answer. No object is written twice then. So all
// children of a kind are a target, too.

// churnTarget returns the target that stands for all children of a kind of a parent.
func churnTarget(parent *object.Object, kind schema.GroupKind) target {
	return target{
		Key: object.Key{GroupKind: kind, NamespacedName: parent.Key()}, as: pipeline.Op("children of " + parent.Kind),
	}
}

// isChurn reports whether a step may be part of churn.
func (g *Guard) isChurn(step *pipeline.Step) bool {
	if step.Op == pipeline.Delete {
		return true
	}
	history := g.histories[target{Key: step.Key()}]
	return step.Creates() && (history == nil || !history.completesRecreate(step))
}

// postponeChurn removes the creations and deletions of a kind that must wait from a plan. The existing children stay
// during that time. It returns the time when they are due, zero if there are none, and the loops to report.
func (g *Guard) postponeChurn(plan *pipeline.Plan, state *state, now time.Time) (
	next time.Time, report []pipeline.WriteLoop,
) {
	for _, group := range state.snapshot.Children {
		at := churnTarget(state.snapshot.Parent, group.Type.GroupKind())
		history := g.historyOf(state.snapshot, at)
		if history == nil {
			continue
		}
		step := g.churnOf(plan, history, group.Type)
		if step == nil {
			history.wantedSince = time.Time{}
			if history.loop != nil {
				history.settle(absent, state.full(), now)
			}
			continue
		}
		early, loops := history.attempt(step, state, now)
		report = append(report, loops...)
		if history.loop != nil {
			g.looping.add(history.loop.Parent, at)
		}
		if !early {
			continue
		}
		next = earlier(next, history.loop.until)
		for i := range plan.Steps {
			if of := &plan.Steps[i]; of.Type.GroupKind() == group.Type.GroupKind() && g.isChurn(of) {
				plan.Steps[i] = postponed(*of)
			}
		}
	}
	return next, report
}

// churnOf returns a step that stands for the creations and deletions of a kind in a plan; nil if the plan does
// not create any, or if none was or will be deleted.
func (g *Guard) churnOf(plan *pipeline.Plan, history *history, of object.Type) *pipeline.Step {
	var first *pipeline.Step
	deletes, names := history.deleted, uint64(0)
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if step.Type.GroupKind() != of.GroupKind() || !g.isChurn(step) {
			continue
		}
		names += xxhash.Sum64String(string(step.Op) + step.Namespace + "/" + step.Name)
		if step.Op == pipeline.Delete {
			deletes = true
		} else if first == nil {
			first = step
		}
	}
	if first == nil || !deletes {
		return nil
	}
	return &pipeline.Step{Op: pipeline.Create, Type: of, Namespace: first.Namespace, Name: first.Name, Desired: names}
}

// wroteChurn adds the creations and deletions of a sync to the histories of churn.
func (g *Guard) wroteChurn(outcomes []pipeline.Outcome, state *state, now time.Time) {
	for _, group := range state.snapshot.Children {
		kind := group.Type.GroupKind()
		is := func(outcome pipeline.Outcome) bool {
			return outcome.Type.GroupKind() == kind && changed(&outcome) && g.isChurn(&outcome.Step)
		}
		created := slices.IndexFunc(outcomes, func(outcome pipeline.Outcome) bool {
			return is(outcome) && outcome.Op != pipeline.Delete
		})
		deleted := slices.ContainsFunc(outcomes, func(outcome pipeline.Outcome) bool {
			return is(outcome) && outcome.Op == pipeline.Delete
		})
		at := churnTarget(state.snapshot.Parent, kind)
		history := g.historyOf(state.snapshot, at)
		switch {
		case history == nil && !deleted:
			continue
		case history == nil:
			history = newChurn(state, now)
			g.histories[at] = history
		}
		history.deleted = history.deleted || deleted
		if created < 0 || !history.deleted {
			continue
		}
		step := outcomes[created].Step
		step.Op, step.Body, step.Desired, step.Path = pipeline.Create, nil, 0, ""
		history.wrote(&step, state, now)
		history.deleted, history.keep = false, calm
	}
}

func newChurn(state *state, now time.Time) *history {
	parent := state.snapshot.Parent
	return &history{isChurn: true, last: now, parent: object.KeyOf(parent), parentUID: parent.UID}
}
