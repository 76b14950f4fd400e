// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"slices"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// act takes the steps of a plan, but for those that would go on for ever and for which it is too
// early. After is when the first of these is due, zero if there are none. Started is when
// the sync was.
func (c *Controller) act(ctx context.Context, started time.Time, snapshot *pipeline.Snapshot, planned *pipeline.Plan) (outcomes []pipeline.Outcome, after time.Duration) {
	next, news := c.guard.Postpone(snapshot, planned, started)
	c.tellLoops(snapshot.Parent, news, started)
	outcomes = c.Actor.Act(ctx, snapshot, planned)
	now := time.Now()
	c.guard.Wrote(snapshot, outcomes, now)
	if next.IsZero() {
		return outcomes, 0
	}
	return outcomes, max(next.Sub(now), 1)
}

// tellLoops has an event written about loops of a parent, if there are any.
func (c *Controller) tellLoops(parent *object.Object, news []pipeline.WriteLoop, now time.Time) {
	if len(news) > 0 {
		c.nameRivals(news)
		c.Events.WriteLoop(parent, news, now)
	}
}

// loops are what is slowed down of the parents there are.
func (c *Controller) loops() []pipeline.WriteLoop {
	loops := slices.DeleteFunc(c.guard.Loops(time.Now()), func(loop pipeline.WriteLoop) bool {
		return c.observer.Get(loop.Parent) == nil
	})
	c.nameRivals(loops)
	return loops
}

// nameRivals puts into loops who takes part in them, where that is known.
func (c *Controller) nameRivals(loops []pipeline.WriteLoop) {
	for i := range loops {
		loops[i].Rivals = c.Guards.Rivals(c.guard, loops[i])
	}
}

// sooner is the shorter of two times, either of which is none if it is zero.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
