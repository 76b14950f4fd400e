// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Churn: the syncs of a parent create children of a kind and delete those that they created before, again and again
// although nothing else changes, because the hook gives them other names in each answer. No object is written twice
// then. So all children of a kind are a target, too.
//
// A hook that replaces children for a reason, such as a schedule, wants the new child in the next answer, too. So a
// round counts if no sync since the last one has left the children of the kind as they are, however long that took.

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

// postponeChurn removes from a plan the creations and deletions that must wait, kind by kind. The existing children
// stay during that time. It returns the time when the first of these steps is due, zero if there are none, and the
// loops to report.
func (g *Guard) postponeChurn(plan *pipeline.Plan, state *state, now time.Time) (
	next time.Time, report []pipeline.WriteLoop,
) {
	for _, group := range state.snapshot.Children {
		at := churnTarget(state.snapshot.Parent, group.Type.GroupKind())
		history := g.historyOf(state.snapshot, at)
		if history == nil {
			continue
		}
		step, rests := g.churnOf(plan, history, group.Type)
		history.rested = history.rested || rests
		if step == nil {
			history.wantedSince = time.Time{}
			if history.loop != nil {
				history.noteDesired(absent, state.full(), now)
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

// churnOf returns a step that stands for the creations and deletions of a kind in a plan; nil if the plan
// creates none, or if neither it nor an earlier sync deletes one that the hook made. rests reports whether the plan
// neither creates nor deletes any.
func (g *Guard) churnOf(plan *pipeline.Plan, history *history, of object.Type) (churn *pipeline.Step, rests bool) {
	var first *pipeline.Step
	deletes, names := history.deleted, uint64(0)
	rests = true
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if step.Type.GroupKind() != of.GroupKind() || !g.isChurn(step) {
			continue
		}
		rests = false
		names += xxhash.Sum64String(string(step.Op) + step.Namespace + "/" + step.Name)
		if step.Op == pipeline.Delete {
			deletes = deletes || history.made.Has(step.Key().NamespacedName)
		} else if first == nil {
			first = step
		}
	}
	if first == nil || !deletes {
		return nil, rests
	}
	churn = &pipeline.Step{Op: pipeline.Create, Type: of, Namespace: first.Namespace, Name: first.Name, Desired: names}
	return churn, false
}

// wroteChurn adds the creations and deletions of a sync to the histories of churn.
func (g *Guard) wroteChurn(outcomes []pipeline.Outcome, state *state, now time.Time) {
	for _, group := range state.snapshot.Children {
		at := churnTarget(state.snapshot.Parent, group.Type.GroupKind())
		history := g.historyOf(state.snapshot, at)
		var created, deleted []*pipeline.Step
		for i := range outcomes {
			step := &outcomes[i].Step
			switch {
			case step.Type.GroupKind() != group.Type.GroupKind() || !g.isChurn(step):
			case step.Op == pipeline.Delete: // even if it has failed, since the children would only become more
				deleted = append(deleted, step)
			case changed(&outcomes[i]):
				created = append(created, step)
			}
		}
		switch {
		case history == nil && len(deleted) == 0:
			continue
		case history == nil:
			history = newChurn(state, now)
			g.histories[at] = history
		}
		if len(created) > 0 || len(deleted) > 0 {
			history.replaced(&group, created, deleted)
		}
		if len(created) == 0 || !history.deleted {
			continue
		}
		step := *created[0]
		step.Op, step.Body, step.Desired, step.Path = pipeline.Create, nil, 0, ""
		history.wrote(&step, state, now)
		history.deleted, history.keep, history.rested, history.related = false, calm, false, state.related()
	}
}

// replaced records which children of a kind a sync has created and deleted. Children that the observed state no
// longer has are forgotten.
func (h *history) replaced(group *pipeline.Group, created, deleted []*pipeline.Step) {
	for _, step := range deleted {
		h.deleted = h.deleted || h.made.Has(step.Key().NamespacedName)
	}
	made := sets.New[types.NamespacedName]()
	for _, child := range group.Claimed {
		if h.made.Has(child.Key()) {
			made.Insert(child.Key())
		}
	}
	for _, step := range created {
		made.Insert(step.Key().NamespacedName)
	}
	h.made = made
}

func newChurn(state *state, now time.Time) *history {
	parent := state.snapshot.Parent
	return &history{isChurn: true, last: now, parent: object.KeyOf(parent), parentUID: parent.UID}
}
