// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// slotUsers asks for slots and notes who has got one.
type slotUsers struct {
	*testing.T
	slots *slots
	// granted are the names of the calls that have their slot, in order. The lock guards them, because
	// one release may let several calls go on.
	mu      sync.Mutex
	granted []string
}

// ask asks for a slot in the name of an owner; "a1" and "a2" are calls of owner a. It returns a
// function that gives up waiting.
func (u *slotUsers) ask(call string) (giveUp func()) {
	ctx, cancel := context.WithCancel(u.Context())
	go func() {
		if u.slots.acquire(ctx, call[:1]) == nil {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.granted = append(u.granted, call)
		}
	}()
	synctest.Wait()
	return func() { cancel(); synctest.Wait() }
}

// want fails unless the calls have their slots since it was called last.
func (u *slotUsers) want(calls string) {
	u.Helper()
	if got := strings.Join(u.granted, " "); got != calls {
		u.Errorf("slots have %q, want %q", got, calls)
	}
	u.granted = nil
}

func (u *slotUsers) release(owner string) { u.slots.release(owner); synctest.Wait() }

// sharing runs a test with so many slots.
func sharing(t *testing.T, count int, do func(u *slotUsers)) {
	synctest.Test(t, func(t *testing.T) { do(&slotUsers{T: t, slots: newSlots(count)}) })
}

func TestAnOwnerLeavesAsManySlotsAsItHolds(t *testing.T) {
	sharing(t, 8, func(u *slotUsers) {
		var cancel []func()
		for _, call := range []string{"a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "c1", "c2", "d1", "d2"} {
			cancel = append(cancel, u.ask(call))
		}
		u.want("a1 a2 a3 a4 b1 b2 c1 d1")
		u.release("a") // one is free then, and all who wait hold one at least
		u.want("")
		u.release("a")
		u.want("c2")
		for _, end := range cancel {
			end()
		}
	})
}

func TestAnOwnerWithoutASlotGetsTheLastOne(t *testing.T) {
	for count := range 4 {
		sharing(t, count+1, func(u *slotUsers) {
			for owner := range count + 1 {
				u.ask(fmt.Sprint(string(rune('a'+owner)), 1))
			}
			if len(u.granted) != count+1 {
				u.Errorf("of %d slots are in use %q", count+1, u.granted)
			}
		})
	}
}

func TestOwnersTakeTurnsAndWithinOneTheFirstIsFirst(t *testing.T) {
	sharing(t, 1, func(u *slotUsers) {
		for _, call := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
			u.ask(call)
		}
		u.want("a1")
		for _, turn := range []struct{ of, next string }{{"a", "a2"}, {"a", "b1"}, {"b", "c1"}, {"c", "a3"}, {"a", "b2"}, {"b", ""}} {
			u.release(turn.of)
			u.want(turn.next)
		}
	})
}

func TestWhoGivesUpWaitingIsPassedOver(t *testing.T) {
	sharing(t, 1, func(u *slotUsers) {
		u.ask("a1")
		giveUp := u.ask("b1")
		u.ask("c1")
		giveUp()
		u.want("a1")
		u.release("a")
		u.want("c1")
		u.release("c")
		if len(u.slots.owners) > 0 || u.slots.waiting.Len() > 0 || u.slots.free != 1 {
			u.Errorf("%d owners are known, %d wait, %d slots are free", len(u.slots.owners), u.slots.waiting.Len(), u.slots.free)
		}
		ctx, cancel := context.WithCancelCause(u.Context())
		cause := errors.New("the controller stops")
		cancel(cause)
		if err := u.slots.acquire(ctx, "a"); !errors.Is(err, cause) {
			u.Errorf("a call that is given up before it begins ends with %v", err)
		}
	})
}

// The owners acquire, cancel and release in a random order. No slot is lost or granted twice. No owner
// waits for a slot that it may take, and every owner gets its slots in the end.
func TestSlotsAreSharedWhateverComes(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 14))
		count := 1 + random.IntN(9)
		sharing(t, count, func(u *slotUsers) {
			waiting, held := map[string]func(){}, []string{}
			got := func() {
				for _, call := range u.granted {
					delete(waiting, call)
					held = append(held, call)
				}
				u.granted = nil
			}
			check := func() {
				u.Helper()
				got()
				if u.slots.free+len(held) != count || u.slots.free < 0 {
					u.Fatalf("seed %d: of %d slots %d are held and %d free", seed, count, len(held), u.slots.free)
				}
				for call := range waiting {
					if owner := u.slots.owners[call[:1]]; owner == nil || u.slots.mayTake(owner) {
						u.Fatalf("seed %d: %s waits, and %d slots are free", seed, call, u.slots.free)
					}
				}
			}
			for i := range 300 {
				switch choice := random.IntN(5); {
				case choice < 2:
					call := fmt.Sprint(string(rune('a'+random.IntN(5))), i)
					waiting[call] = u.ask(call)
				case choice == 2 && len(waiting) > 0:
					calls := slices.Sorted(func(yield func(string) bool) {
						for call := range waiting {
							if !yield(call) {
								return
							}
						}
					})
					call := calls[random.IntN(len(calls))]
					waiting[call]()
					delete(waiting, call)
				case len(held) > 0:
					at := random.IntN(len(held))
					call := held[at]
					held = slices.Delete(held, at, at+1)
					u.release(call[:1])
				}
				check()
			}
			for len(held) > 0 {
				call := held[0]
				held = held[1:]
				u.release(call[:1])
				check()
			}
			if len(waiting) > 0 || len(u.slots.owners) > 0 {
				u.Fatalf("seed %d: %d calls wait for ever, %d owners are known", seed, len(waiting), len(u.slots.owners))
			}
		})
	}
}
