// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var (
	webs       = object.Type{GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web"}
	configMaps = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap"}
)

// world is one parent and the writes of its syncs, in a time of its own.
type world struct {
	*testing.T
	guard    *Guard
	parent   uint64 // the hash of its content
	uid      int    // of the parent
	child    int    // the resource version of its child
	others   []string
	related  int  // the resource version of a related object
	keeps    bool // every deletion fails
	now      time.Duration
	written  []time.Duration
	reported []pipeline.WriteLoop
}

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func newWorld(t *testing.T) *world { return &world{T: t, guard: New(), parent: 1} }

func (w *world) snapshot() *pipeline.Snapshot {
	parent := observed("p", fmt.Sprint(w.parent), w.parent)
	parent.UID = types.UID(fmt.Sprint(w.uid))
	children := []*object.Object{observed("c", fmt.Sprint(w.child), 0)}
	for _, name := range w.others {
		children = append(children, observed(name, "1", 0))
	}
	return &pipeline.Snapshot{
		ParentType: webs,
		Parent:     parent,
		Children:   []pipeline.Group{{Type: configMaps, Claimed: children}},
		Related:    []pipeline.Related{{Objects: []*object.Object{observed("r", fmt.Sprint(w.related), 0)}}},
	}
}

func observed(name, resourceVersion string, hash uint64) *object.Object {
	return &object.Object{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: resourceVersion}, Hash: hash,
	}
}

// step is what a sync wants to do to the ConfigMap of a name.
func step(op pipeline.Op, name string, wish uint64) pipeline.Step {
	step := pipeline.Step{Op: op, Type: configMaps, Namespace: "ns", Name: name, Desired: wish, Path: "data.a", Why: "it differs at data.a"}
	switch op {
	case pipeline.Create:
		step.Path = ""
	case pipeline.Status:
		step.Type, step.Name, step.Path = webs, "p", "status.a"
		step.Observed = observed("p", "1", 0)
	case pipeline.Metadata:
		step.Type, step.Name, step.Path = webs, "p", "metadata.labels[a]"
		step.Observed = observed("p", "1", 0)
	default:
		step.Observed = observed(name, "1", 0)
	}
	return step
}

// sync is a sync that wants the steps. It returns the ones that it may take, and when the first of
// the others may be taken.
func (w *world) sync(steps ...pipeline.Step) (taken []pipeline.Op, next time.Duration) {
	w.Helper()
	snapshot, plan := w.snapshot(), &pipeline.Plan{Steps: steps}
	wanted := len(steps)
	until, loops := w.guard.Postpone(snapshot, plan, start.Add(w.now))
	w.reported = append(w.reported, loops...)
	var outcomes []pipeline.Outcome
	for _, step := range plan.Steps {
		if !step.Op.Writes() {
			continue
		}
		outcome := pipeline.Outcome{Step: step}
		if step.Op != pipeline.Delete && step.Op != pipeline.Recreate {
			outcome.Result = observed(step.Name, "2", 0)
		}
		if w.keeps && step.Op == pipeline.Delete {
			outcome.Err = errors.New("it may not be deleted")
		}
		outcomes = append(outcomes, outcome)
		taken = append(taken, step.Op)
		w.written = append(w.written, w.now)
	}
	w.guard.Wrote(snapshot, outcomes, start.Add(w.now))
	if until.IsZero() {
		if len(taken) < wanted && len(plan.Steps) < wanted {
			w.Error("a step is missing, and nothing says until when")
		}
		return taken, 0
	}
	return taken, until.Sub(start)
}

// fight wants the steps again each time pause after they were written, until a time.
func (w *world) fight(pause, until time.Duration, steps func() []pipeline.Step) {
	w.Helper()
	for w.now < until {
		if _, next := w.sync(steps()...); next != 0 {
			w.now = next
		} else {
			w.now += pause
		}
	}
}

func (w *world) loops() []pipeline.WriteLoop { return w.guard.Loops(start.Add(w.now)) }

// pauses are the times between writes.
func (w *world) pauses() []time.Duration {
	var pauses []time.Duration
	for i := 1; i < len(w.written); i++ {
		pauses = append(pauses, w.written[i]-w.written[i-1])
	}
	return pauses
}

func constantly(of ...pipeline.Step) func() []pipeline.Step {
	return func() []pipeline.Step { return slices.Clone(of) }
}

// restlessly wants another state of each object every time.
func restlessly(of ...pipeline.Step) func() []pipeline.Step {
	wish := uint64(100)
	return func() []pipeline.Step {
		wish++
		steps := slices.Clone(of)
		for i := range steps {
			steps[i].Desired = wish
		}
		return steps
	}
}
