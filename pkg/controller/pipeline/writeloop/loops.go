// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// maxHistories bounds how many histories of creations are kept for more than a minute.
const maxHistories = 10_000

// Loops returns the write loops that are slowed down, and drops the histories of objects that
// are no longer written.
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
		g.historiesOf(parent) // drops what is no loop any more
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

// RecheckAfter returns when the hook is asked again whether a loop of a parent is over that otherwise ends
// after so long: within seconds, but later if that is far off or if many parents are in loops.
func (g *Guard) RecheckAfter(over time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return min(over, max(3*time.Second, over/20, time.Duration(len(g.looping))*500*time.Millisecond))
}

// LoopsEnd returns when all write loops of a parent will be over if nothing more is written; zero if
// it is in none.
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

// historiesOf returns the histories of the loops of a parent. The guard must be locked.
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

// loopIndex has the targets that are in loops, by the parents of the loops. A target stays until it is
// looked up and is in no loop of the parent any more.
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
