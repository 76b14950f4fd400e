// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// entered enters a budget without waiting.
func entered(t *testing.T, b *Budget, name string, bytes int64) (context.Context, *Room) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	ctx, room, err := b.Enter(ctx, name, bytes)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, room
}

// waits reports whether entering a budget has to wait.
func waits(t *testing.T, b *Budget, name string, bytes int64) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, room, err := b.Enter(ctx, name, bytes)
	if err == nil {
		room.Leave()
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it has waited with the error %v", err)
	}
	return err != nil
}

func TestAnOwnerLeavesHalfOfTheBudgetToOthers(t *testing.T) {
	b := NewBudget(1 << 20)
	_, first := entered(t, b, "a", 400<<10)
	if !waits(t, b, "a", 200<<10) {
		t.Error("one owner has more than half of the budget")
	}
	_, second := entered(t, b, "b", 512<<10)
	if waits(t, b, "a", 100<<10) {
		t.Error("an owner with less than half waits although there is room")
	}
	if !waits(t, b, "c", 200<<10) {
		t.Error("the owners together have more than the budget")
	}
	first.Leave()
	if waits(t, b, "c", 200<<10) {
		t.Error("what one has left is not free")
	}
	second.Leave()
	if len(b.owners) != 0 {
		t.Errorf("owners are kept that have nothing: %v", b.owners)
	}
}

func TestASmallSyncDoesNotWaitForOtherOwners(t *testing.T) {
	b := NewBudget(1 << 20)
	_, first := entered(t, b, "a", 512<<10)
	_, second := entered(t, b, "b", 512<<10)
	_, room := entered(t, b, "c", 10<<10)
	if err := room.take(minRoom); err != nil {
		t.Errorf("two owners have the whole budget, and a third has no room for a small call: %v", err)
	}
	var noRoom *NoRoomError
	if err := room.take(200 << 10); !errors.As(err, &noRoom) {
		t.Errorf("beside two owners with the whole budget, a third has room for a large call: %v", err)
	}
	for _, left := range []*Room{first, second, room} {
		left.Leave()
	}
}

func TestASyncWithBytesNeverWaits(t *testing.T) {
	b := NewBudget(1 << 20)
	_, first := entered(t, b, "a", 300<<10)
	_, second := entered(t, b, "a", 200<<10)
	var noRoom *NoRoomError
	if err := first.take(400 << 10); !errors.As(err, &noRoom) {
		t.Errorf("there is no room, and the error is %v", err)
	}
	if next := first.Leave(); next != 450<<10 {
		t.Errorf("after a sync of %d bytes, the next one enters with %d", 400<<10, next)
	}
	if !waits(t, b, "a", 400<<10) {
		t.Error("it does not wait for what it needs")
	}
	second.Leave()
	_, again := entered(t, b, "a", 400<<10)
	if err := again.take(400 << 10); err != nil {
		t.Error(err)
	}
	again.free(400 << 10)
	if err := again.take(512 << 10); err != nil {
		t.Errorf("what one call has freed is not there for the next: %v", err)
	}
	if err := again.take(100 << 20); err != nil {
		t.Errorf("a sync that needs more than there is does not run alone: %v", err)
	}
	if !waits(t, b, "a", 1) {
		t.Error("beside a sync that has everything, another runs")
	}
	again.Leave()
}

func TestWithoutABudgetNothingIsBounded(t *testing.T) {
	var b *Budget
	ctx, room := entered(t, b, "a", 1<<40)
	if err := roomOf(ctx).take(1 << 40); err != nil {
		t.Error(err)
	}
	room.free(1 << 40)
	if next := room.Leave(); next != 0 {
		t.Errorf("the next sync enters with %d bytes", next)
	}
}

// Nobody waits for somebody who waits.
func TestSyncsThatNeedMoreThanTheyKnewAllEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(1 << 20)
		var most, now atomic.Int64
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				const needs = 100 << 10
				known, owner := int64(0), string(rune('a'+i%3))
				for {
					_, room, err := b.Enter(t.Context(), owner, known)
					if err != nil {
						t.Error(err)
						return
					}
					err = room.take(needs / 2)
					<-time.After(time.Millisecond)
					err = errors.Join(err, room.take(needs/2))
					if err == nil {
						for taken := now.Add(needs); taken > most.Load(); {
							most.Store(taken)
						}
						<-time.After(time.Second)
						now.Add(-needs)
					}
					if known = room.Leave(); err == nil {
						return
					}
				}
			})
		}
		all.Wait()
		if most.Load() > 1<<20+15*minRoom || most.Load() < 800<<10 {
			t.Errorf("there were %d bytes at once, want most of the budget", most.Load())
		}
	})
}

func TestCallsTakeRoomForRequestsAndAnswers(t *testing.T) {
	const size = 100 << 10
	for name, test := range map[string]struct {
		announced bool
		budget    int64
		fits      bool
	}{
		"an answer that fits":                      {true, 1 << 20, true},
		"an answer that fits and is not announced": {false, 1 << 20, true},
		"one that is too large for what is left":   {true, 2 * size, false},
		"one that is not announced":                {false, 2 * size, false},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if !test.announced {
					http.NewResponseController(w).Flush()
				}
				_, _ = io.WriteString(w, `{"status":{"a":"`+strings.Repeat("x", size)+`"}}`)
			})
			spec := &v1alpha1.Hook{Webhook: &v1alpha1.Webhook{URL: &address}}
			hook, err := New(Sync, spec, nil, Options{Limits: Limits{MaxResponseBytes: 1 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(hook.Close)
			b := NewBudget(test.budget)
			_, other := entered(t, b, "a", 32<<10)
			ctx, room := entered(t, b, "a", 0)
			_, err = hook.SyncComposite(ctx, snapshot(t))
			if isNoRoom(err) == test.fits || !Answered(err) {
				t.Errorf("the error is %v", err)
			}
			needed := room.Leave()
			if needed < size || needed > 4*size {
				t.Errorf("for an answer of %d bytes it needed %d", size, needed)
			}
			other.Leave()
			ctx, room = entered(t, b, "a", needed)
			if _, err := hook.SyncComposite(ctx, snapshot(t)); err != nil {
				t.Errorf("the sync that has waited for its room fails: %v", err)
			}
			room.Leave()
		})
	}
}
