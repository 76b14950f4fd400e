// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Registry has the guards of all parent controllers that run in this process, and finds out which of them undo each
// other's writes. A nil Registry is empty.
type Registry struct {
	mu     sync.Mutex
	byName map[*Guard]string
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{byName: map[*Guard]string{}} }

// Add adds the guard of a controller, under the controller's name, until remove is called.
func (r *Registry) Add(guard *Guard, name string) (remove func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byName[guard] = name
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.byName, guard)
	}
}

// Rivals returns the names of the other controllers that take part in a loop of a guard: they write the same
// part of the object again and again, or delete the object. The names are sorted.
func (r *Registry) Rivals(of *Guard, loop pipeline.WriteLoop) []string {
	if r == nil || loop.AnswerChanges || loop.Op == pipeline.Delete {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := of.knownRivals(loop)
	var rivals []string
	for other, name := range r.byName {
		if other != of && (slices.Contains(known, name) || other.isRivalIn(loop)) {
			rivals = append(rivals, name)
		}
	}
	slices.Sort(rivals)
	of.setRivals(loop, rivals)
	return rivals
}

// knownRivals returns the controllers that took part in a loop before. While this side pauses for more than a
// minute, the other side rarely writes, so its guard has no history, although it still takes part in the loop.
func (g *Guard) knownRivals(loop pipeline.WriteLoop) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if found := g.findLoop(loop); found != nil {
		return found.rivals
	}
	return nil
}

func (g *Guard) setRivals(loop pipeline.WriteLoop, rivals []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if found := g.findLoop(loop); found != nil {
		found.rivals = rivals
	}
}

// findLoop returns a loop of this guard; nil if it has ended. The caller must hold the lock.
func (g *Guard) findLoop(of pipeline.WriteLoop) *loop {
	for _, as := range writtenAs {
		history := g.histories[target{Key: of.Object, as: as}]
		if history != nil && history.loop != nil && history.loop.Path == of.Path {
			return history.loop
		}
	}
	return nil
}

// writtenAs are the values of target.as for writes of content.
var writtenAs = append([]pipeline.Op{""}, parentOps...)

// minRivalWrites is the number of writes in a row that make a controller a rival. It is less than maxUndone, because
// the other side may detect the loop first.
const minRivalWrites = 3

// isRivalIn reports whether this controller takes part in a loop of another controller: it also writes that part of the
// object repeatedly or, if the other controller finds the object missing, deletes it repeatedly.
func (g *Guard) isRivalIn(loop pipeline.WriteLoop) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if loop.Path == "" {
		return g.deletions[loop.Object].times >= minRivalWrites
	}
	for _, as := range writtenAs {
		history := g.histories[target{Key: loop.Object, as: as}]
		if history != nil && max(history.undone, history.changing) >= minRivalWrites &&
			part(history.path) == part(loop.Path) {
			return true
		}
	}
	return false
}

// part returns the part of an object that a field is in, such as labels, annotations, status or spec. If the
// sides differ in several fields, each may name another field.
func part(path string) string {
	first, rest, _ := strings.Cut(path, ".")
	if first == "metadata" {
		if end := strings.IndexAny(rest, ".["); end >= 0 {
			rest = rest[:end]
		}
		return first + "." + rest
	}
	if end := strings.IndexByte(first, '['); end >= 0 {
		first = first[:end]
	}
	return first
}

// deletions are the children that a controller has deleted because its hook does not list them. Another
// controller may create them again and again.
type deletions map[object.Key]deletion

// deletion counts how many times in a row a child was deleted, each within calm after the last time.
type deletion struct {
	times int
	last  time.Time
}

func (d *deletions) add(child object.Key, now time.Time) {
	before := (*d)[child]
	if before.isOver(now) {
		before.times = 0
	}
	if *d == nil {
		*d = deletions{}
	}
	(*d)[child] = deletion{before.times + 1, now}
}

// forget drops the children whose deletion is long ago.
func (d *deletions) forget(now time.Time) {
	maps.DeleteFunc(*d, func(_ object.Key, last deletion) bool { return last.isOver(now) })
	if len(*d) == 0 {
		*d = nil // a map does not shrink
	}
}

func (d deletion) isOver(now time.Time) bool { return now.Sub(d.last) > calm }
