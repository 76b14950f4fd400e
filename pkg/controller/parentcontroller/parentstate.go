// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package parentcontroller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/planner"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/rows"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/status"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/observe"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions/store"
)

// parentState is the state of a parent that one sync passes on to the next. Only the worker that syncs the parent uses
// it, except for record, and for previews while no sync is in progress. There is one for each parent, so fields that
// few parents need are behind a pointer.
type parentState struct {
	// mu is held during a sync of the parent, and while a preview copies the state.
	mu sync.Mutex
	// uid is the UID of the parent; empty before the first sync.
	uid types.UID
	// record is shown as the Sync of the parent. generation and children are the values that the running sync puts
	// into it, and finalizerSteps are those that it took before it called a hook.
	record         rows.Record
	generation     int64
	children       rows.ChildCounts
	finalizerSteps []pipeline.Outcome
	// pending are the last writes, until the caches show them.
	pending observe.OwnWrites
	// unseenSince is when a sync first found that the caches do not show the last writes; zero if they do.
	unseenSince time.Time
	// unfinishedSince is the time from which no sync has succeeded, if a sync has since ended without success and
	// without a failure. It is in nanoseconds since 1970; zero if there is none.
	unfinishedSince int64
	// bytes is the part of the hook budget that the next sync reserves at its beginning.
	bytes int64
	// loopsEnd is the time at which all write loops of the parent will have ended if nothing more is written; zero
	// without a write loop. It is in nanoseconds since 1970.
	loopsEnd int64
	// finalization is there while the finalize hook has not finished.
	finalization *finalization
	// planning is what the planner knows of the parent.
	planning planner.State
	// reported records what events have reported about the parent.
	reported status.Reported
	// revisions are the last writes of ControllerRevisions, until the cache shows them; nil if there were none.
	revisions *store.OwnWrites
}

// setLoopsEnd notes until when the parent is in write loops, zero if it is in none.
func (s *parentState) setLoopsEnd(end time.Time) {
	s.loopsEnd = 0
	if !end.IsZero() {
		s.loopsEnd = end.UnixNano()
	}
}

// slowedDown returns the time until the write loops of the parent end; zero if it is in none. The
// children may be as the hook wants at this moment. The other side of the loop will change them again,
// so the parent does not count as synced.
func (s *parentState) slowedDown(now time.Time) (over time.Duration) {
	if s.loopsEnd == 0 {
		return 0
	}
	if over = time.Unix(0, s.loopsEnd).Sub(now); over > 0 {
		return over
	}
	s.loopsEnd = 0
	return 0
}

// parentStates holds the state of each parent. Its methods may be called concurrently.
type parentStates struct {
	revisions *revisionWriter

	mu    sync.Mutex
	byKey map[object.Key]*parentState
}

func newParentStates(revisions *revisionWriter) *parentStates {
	return &parentStates{revisions: revisions, byKey: map[object.Key]*parentState{}}
}

// get returns the state of a parent, and makes an empty one if there is none.
func (p *parentStates) get(parent object.Key) *parentState {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.byKey[parent]
	if state == nil {
		state = &parentState{}
		p.byKey[parent] = state
	}
	return state
}

// find returns the state of a parent; nil if there is none.
func (p *parentStates) find(parent object.Key) *parentState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byKey[parent]
}

// record returns the Record of the last sync of a parent; nil if it was not synced.
func (p *parentStates) record(parent object.Key) *rows.Record {
	if state := p.find(parent); state != nil {
		return &state.record
	}
	return nil
}

// areIdle reports whether no sync runs, and the caches show the last writes.
func (p *parentStates) areIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, state := range p.byKey {
		if !state.mu.TryLock() {
			return false
		}
		seen := state.pending.DropSeen()
		state.mu.Unlock()
		if !seen {
			return false
		}
	}
	return true
}

func (p *parentStates) forget(parent object.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byKey, parent)
}

// recallInterval is the interval at which a preview checks whether a sync has ended and the caches show what it
// wrote.
const recallInterval = 10 * time.Millisecond

// recall returns, for a preview, a copy of the state that syncs of a parent plan with, and the number of bytes of the
// hook budget that the next sync begins with. Like the next sync, it waits until no sync of the parent runs and the
// caches show the last writes.
func (p *parentStates) recall(ctx context.Context, parent *object.Object) (_ *planner.State, bytes int64, err error) {
	ticker := time.NewTicker(recallInterval)
	defer ticker.Stop()
	for {
		if copied, bytes, ok := p.copyOf(parent); ok {
			return copied, bytes, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("a sync of the parent is in progress, or the caches do not show its writes yet: %w",
				context.Cause(ctx))
		}
	}
}

// copyOf copies the state of a parent. ok is false while a sync runs, and until the caches show its writes.
func (p *parentStates) copyOf(parent *object.Object) (copied *planner.State, bytes int64, ok bool) {
	state := p.find(object.KeyOf(parent))
	if state == nil {
		return &planner.State{}, 0, true
	}
	if !state.mu.TryLock() {
		return nil, 0, false
	}
	defer state.mu.Unlock()
	switch {
	case !state.pending.DropSeen() || !p.revisions.isSeen(state):
		return nil, 0, false
	case state.uid != parent.UID:
		return &planner.State{}, 0, true // it is about an earlier parent of the same name
	}
	return state.planning.CopyForPreview(), state.bytes, true
}
