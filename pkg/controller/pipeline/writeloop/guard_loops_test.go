// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"fmt"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// loopingGuard returns a guard with that many parents, each of which has one child in a write loop, and
// the time of the last attempt.
func loopingGuard(parents int) (guard *Guard, now time.Time) {
	guard = New()
	for i := range parents {
		now = drive(guard, parentNamed(i), fmt.Sprint("c", i))
	}
	return guard, now
}

func parentNamed(i int) *pipeline.Snapshot {
	return &pipeline.Snapshot{ParentType: webs, Parent: observed(fmt.Sprint("p", i), "1", 1)}
}

// drive writes a child for a parent until that is a loop.
func drive(guard *Guard, parent *pipeline.Snapshot, child string) (now time.Time) {
	now = start
	for {
		plan := &pipeline.Plan{Steps: []pipeline.Step{step(pipeline.Update, child, 1)}}
		if next, _ := guard.Postpone(parent, plan, now); !next.IsZero() {
			return now
		}
		guard.Wrote(parent, []pipeline.Outcome{{Step: plan.Steps[0], Result: observed(child, "2", 0)}}, now)
		now = now.Add(time.Second / 10)
	}
}

func TestTheLoopsOfAParent(t *testing.T) {
	guard, now := loopingGuard(2)
	first, second := object.KeyOf(parentNamed(0).Parent), object.KeyOf(parentNamed(1).Parent)
	if loops := guard.LoopsOf(first, now); len(loops) != 1 || loops[0].Object.Name != "c0" {
		t.Errorf("the loops of the first parent are %+v", loops)
	}
	if loops := guard.LoopsOf(object.KeyOf(parentNamed(2).Parent), now); len(loops) > 0 {
		t.Errorf("the loops of a parent without any are %+v", loops)
	}
	taken := func() bool { // the second parent has the child of the first one
		plan := &pipeline.Plan{Steps: []pipeline.Step{step(pipeline.Update, "c0", 1)}}
		guard.Postpone(parentNamed(1), plan, now)
		return len(guard.LoopsOf(first, now)) == 0 && len(guard.LoopsOf(second, now)) == 2
	}
	if !taken() {
		t.Errorf("after the child has another parent, the loops are %+v and %+v", guard.LoopsOf(first, now), guard.LoopsOf(second, now))
	}
	now = now.Add(time.Hour)
	if loops := guard.LoopsOf(second, now); len(loops) > 0 {
		t.Errorf("after an hour, the loops are %+v", loops)
	}
	if guard.Loops(now); len(guard.looping) > 0 {
		t.Errorf("after an hour, %v are remembered", guard.looping)
	}
}

func BenchmarkLoopsOfOneOfManyParents(b *testing.B) {
	const parents = 10_000
	guard, now := loopingGuard(parents)
	one := object.KeyOf(parentNamed(parents / 2).Parent)
	b.ReportAllocs()
	for b.Loop() {
		guard.LoopsOf(one, now)
	}
}

func BenchmarkLoopsOfAllParents(b *testing.B) {
	guard, now := loopingGuard(10_000)
	b.ReportAllocs()
	for b.Loop() {
		guard.Loops(now)
	}
}
