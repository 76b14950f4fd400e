// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"slices"
	"strings"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Registry are those of all controllers of the process that run. By them it is known whether a
// loop is one between two of these. Nil ones know of none.
type Registry struct {
	mu     sync.Mutex
	byName map[*Guard]string
}

// NewRegistry makes them for a process in which no controller runs yet.
func NewRegistry() *Registry { return &Registry{byName: map[*Guard]string{}} }

// Add makes the guard of a controller known under the controller's name until remove is called.
func (a *Registry) Add(guard *Guard, name string) (remove func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byName[guard] = name
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.byName, guard)
	}
}

// Rivals are the names of the other controllers that write what a loop of this one is about
// again and again, in order.
func (a *Registry) Rivals(of *Guard, loop pipeline.WriteLoop) []string {
	if a == nil || loop.AnswerChanges || loop.Path == "" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known := of.rivals(loop)
	var rivals []string
	for other, name := range a.byName {
		if other != of && (slices.Contains(known, name) || other.fightsFor(loop)) {
			rivals = append(rivals, name)
		}
	}
	slices.Sort(rivals)
	of.remember(loop, rivals)
	return rivals
}

// rivals are those that were seen to take part in a loop. When one side pauses for more than a minute, the other
// counts as calm, since it seldom writes then. It fights on all the same.
func (g *Guard) rivals(loop pipeline.WriteLoop) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if held := g.held(loop); held != nil {
		return held.rivals
	}
	return nil
}

func (g *Guard) remember(loop pipeline.WriteLoop, rivals []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if held := g.held(loop); held != nil {
		held.rivals = rivals
	}
}

// held is what is known of a loop of this controller, nil if it is over. The guard has to be locked.
func (g *Guard) held(loop pipeline.WriteLoop) *held {
	for _, as := range writtenAs {
		if record := g.records[target{Key: loop.Object, ofParent: as}]; record != nil && record.held != nil && record.held.Path == loop.Path {
			return record.held
		}
	}
	return nil
}

// writtenAs are the ways an object can be a target.
var writtenAs = append([]pipeline.Op{""}, parentOps...)

// aFight is how many writes in a row make it likely that they are undone by the other side
// of a loop: that may have been seen before on this side.
const aFight = 3

// fightsFor tells whether the controller, too, writes again and again what a loop of another
// one is about.
func (g *Guard) fightsFor(loop pipeline.WriteLoop) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, as := range writtenAs {
		record := g.records[target{Key: loop.Object, ofParent: as}]
		if record != nil && max(record.undone, record.restless) >= aFight && part(record.path) == part(loop.Path) {
			return true
		}
	}
	return false
}

// part is the part of an object that a field is in: the labels, the annotations, the status,
// the spec. Where several fields are fought over, each side may name another one.
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
