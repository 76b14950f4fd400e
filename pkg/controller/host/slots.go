// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"container/list"
	"context"
	"sync"
)

// slots bound how many writes are under way, and share them among owners. An owner may hold at most
// as many slots as are free: one alone gets half of them, a second one half of the rest, and so on.
// So an owner whose writes hang leaves slots for others. An owner that holds none gets one whenever
// one is free.
//
// Owners that wait take turns, and within an owner, calls are served in order. Slots are granted only when one is
// acquired or released, so no goroutine is needed.
type slots struct {
	mu     sync.Mutex
	free   int
	owners map[string]*slotOwner
	// waiting are the owners that wait, the one that has waited longest for its turn first.
	waiting list.List // of *slotOwner
}

// slotOwner holds slots or waits for some.
type slotOwner struct {
	name string
	held int
	// queue are its calls of acquire that wait; each channel is closed when the call has its slot.
	queue list.List // of chan struct{}
	turn  *list.Element
}

func newSlots(count int) *slots {
	return &slots{free: count, owners: map[string]*slotOwner{}}
}

// acquire waits until the owner has one more slot, which the caller must release. It returns the cause of ctx if ctx
// ends first.
func (s *slots) acquire(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	owner := s.owner(name)
	if owner.turn == nil && s.mayTake(owner) {
		s.take(owner)
		s.mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	waiter := owner.queue.PushBack(granted)
	if owner.turn == nil {
		owner.turn = s.waiting.PushBack(owner)
	}
	s.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-granted: // at the same time
		s.giveBack(owner)
	default:
		owner.queue.Remove(waiter)
		s.tidy(owner)
	}
	return context.Cause(ctx)
}

// release ends the use of a slot by its owner.
func (s *slots) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBack(s.owner(name))
}

func (s *slots) owner(name string) *slotOwner {
	owner := s.owners[name]
	if owner == nil {
		owner = &slotOwner{name: name}
		s.owners[name] = owner
	}
	return owner
}

// mayTake reports whether an owner may hold one more slot.
func (s *slots) mayTake(owner *slotOwner) bool { return s.free > 0 && owner.held < max(s.free, 1) }

func (s *slots) take(owner *slotOwner) {
	s.free--
	owner.held++
}

// giveBack frees a slot of an owner, and grants what may be taken now.
func (s *slots) giveBack(owner *slotOwner) {
	owner.held--
	s.free++
	s.tidy(owner)
	for s.grantOne() {
	}
}

// grantOne grants a slot to the first owner in turn that may take one. It reports whether there was
// one.
func (s *slots) grantOne() bool {
	if s.free == 0 {
		return false
	}
	for turn := s.waiting.Front(); turn != nil; turn = turn.Next() {
		owner := turn.Value.(*slotOwner)
		if !s.mayTake(owner) {
			continue
		}
		s.take(owner)
		close(owner.queue.Remove(owner.queue.Front()).(chan struct{}))
		s.waiting.MoveToBack(turn)
		s.tidy(owner)
		return true
	}
	return false
}

// tidy forgets that an owner waits if it does not, and the owner if it holds nothing either.
func (s *slots) tidy(owner *slotOwner) {
	if owner.queue.Len() > 0 {
		return
	}
	if owner.turn != nil {
		s.waiting.Remove(owner.turn)
		owner.turn = nil
	}
	if owner.held == 0 {
		delete(s.owners, owner.name)
	}
}
