// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Budget bounds the bytes of requests and answers that all syncs of a process have in memory, and shares them among
// owners. An owner gets at most half of them, so it always leaves room for others. A nil budget bounds nothing.
//
// A sync waits only while it has no bytes. If it needs more later and there is no room, it ends with an error, and the
// next sync of the parent waits for somewhat more than this one needed. So no sync waits for another one that waits.
type Budget struct {
	ofOwner int64
	all     *semaphore.Weighted
	// evaluations has places for the long evaluations of inline hooks, half as many as processors, so that expensive
	// expressions leave the others to everything else.
	evaluations *semaphore.Weighted

	mu     sync.Mutex
	owners map[string]*owner

	etags etagCaches
}

// owner has a part of a budget.
type owner struct {
	part, evaluation *semaphore.Weighted
	// users counts the syncs that have bytes of the part or wait for some.
	users int
}

// NewBudget returns a budget of the given number of bytes.
func NewBudget(bytes int64) *Budget {
	return &Budget{
		ofOwner: max(bytes/2, 1), all: semaphore.NewWeighted(max(bytes, 1)), owners: map[string]*owner{},
		evaluations: semaphore.NewWeighted(max(int64(runtime.NumCPU()/2), 1)),
	}
}

// NoRoomError is the error of a call whose request or answer found no room in the budget. The sync is repeated.
type NoRoomError struct{}

func (e *NoRoomError) Error() string {
	return "the sync waits for memory for the request or the answer of the hook: other syncs use all of " +
		"--hook-max-bytes-in-flight"
}

// minRoom is the number of bytes that a sync has at first. They count only for its owner so that syncs that need no
// more continue although others use up the budget.
const minRoom = 16 << 10

// Room is the part of a budget that one sync has. Its methods may be called concurrently.
type Room struct {
	budget *Budget
	name   string
	owner  *owner

	mu sync.Mutex
	// taken counts the bytes that the sync has of the budget, used those that its calls use now, and needed is the
	// most that they ever used.
	taken, used, needed int64
}

// Enter waits until there is room for a sync that needs about the given number of bytes. If ctx ends first, Enter
// returns its cause. Calls with the context that Enter returns use this room. The caller must leave the room.
func (b *Budget) Enter(ctx context.Context, name string, bytes int64) (context.Context, *Room, error) {
	if b == nil {
		return ctx, nil, nil
	}
	r := &Room{budget: b, name: name, owner: b.enter(name), taken: min(max(bytes, minRoom), b.ofOwner)}
	if err := r.acquire(ctx); err != nil {
		b.leave(name)
		return ctx, nil, err
	}
	return context.WithValue(ctx, roomKey{}, r), r, nil
}

func (r *Room) acquire(ctx context.Context) error {
	if r.owner.part.Acquire(ctx, r.taken) != nil {
		return context.Cause(ctx)
	}
	if large := beyondMin(r.taken); large > 0 && r.budget.all.Acquire(ctx, large) != nil {
		r.owner.part.Release(r.taken)
		return context.Cause(ctx)
	}
	return nil
}

// beyondMin returns how much of a room counts for all owners.
func beyondMin(taken int64) int64 { return max(taken-minRoom, 0) }

func (b *Budget) enter(name string) *owner {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.owners[name]
	if of == nil {
		of = &owner{part: semaphore.NewWeighted(b.ofOwner), evaluation: semaphore.NewWeighted(1)}
		b.owners[name] = of
	}
	of.users++
	return of
}

func (b *Budget) leave(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.owners[name]
	if of.users--; of.users == 0 {
		delete(b.owners, name)
	}
}

// Leave gives the room back, and returns how many bytes the next sync of the parent should enter with: an eighth more
// than this one needed, because objects grow.
func (r *Room) Leave() (next int64) {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget.all.Release(beyondMin(r.taken))
	r.owner.part.Release(r.taken)
	r.budget.leave(r.name)
	return r.needed + r.needed/8
}

type roomKey struct{}

// roomOf returns the room of a sync; nil if there is no budget.
func roomOf(ctx context.Context) *Room {
	room, _ := ctx.Value(roomKey{}).(*Room)
	return room
}

// take takes more bytes, or returns a *NoRoomError if they are not available now. A sync that needs more than an
// owner may have runs while no other sync of its owner does.
func (r *Room) take(bytes int64) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used += bytes
	r.needed = max(r.needed, r.used)
	more := min(r.used, r.budget.ofOwner) - r.taken
	switch {
	case more <= 0:
		return nil
	case !r.owner.part.TryAcquire(more):
		return &NoRoomError{}
	case !r.budget.all.TryAcquire(beyondMin(r.taken+more) - beyondMin(r.taken)):
		r.owner.part.Release(more)
		return &NoRoomError{}
	}
	r.taken += more
	return nil
}

// evaluationTurn is the turn of an evaluation among those of its owner.
type evaluationTurn struct {
	room *Room
	// isLong is true while the evaluation has one of the places for long ones.
	isLong bool
}

// takeTurn waits for the turn of an evaluation, which the caller ends. If ctx ends first, it returns its cause.
func (r *Room) takeTurn(ctx context.Context) (*evaluationTurn, error) {
	if r != nil && r.owner.evaluation.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	return &evaluationTurn{room: r}, nil
}

// pause makes a long evaluation wait until it has its place. Others that wait have theirs first.
func (t *evaluationTurn) pause(ctx context.Context) error {
	if t.room == nil {
		return nil
	}
	t.leave()
	if t.room.budget.evaluations.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	t.isLong = true
	return nil
}

func (t *evaluationTurn) leave() {
	if t.isLong {
		t.room.budget.evaluations.Release(1)
	}
	t.isLong = false
}

func (t *evaluationTurn) end() {
	t.leave()
	if t.room != nil {
		t.room.owner.evaluation.Release(1)
	}
}

// free ends the use of these bytes by a call. The sync keeps them for its next call.
func (r *Room) free(bytes int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= bytes
}

// reader returns a reader that takes room for the bytes that it reads. It takes the given number of bytes at once.
func (r *Room) reader(of io.Reader, bytes int64) (io.Reader, error) {
	if r == nil {
		return of, nil
	}
	return &roomReader{of: of, room: r, taken: bytes}, r.take(bytes)
}

type roomReader struct {
	of   io.Reader
	room *Room
	// read counts the bytes that were read, and taken those for which there is room.
	read, taken int64
}

func (r *roomReader) Read(into []byte) (int, error) {
	read, err := r.of.Read(into)
	if r.read += int64(read); r.read > r.taken {
		more := max(r.read-r.taken, r.taken, bytesStep)
		if err := r.room.take(more); err != nil {
			return read, err
		}
		r.taken += more
	}
	return read, err
}

// bytesStep is the least that a reader takes when it needs more.
const bytesStep = 16 << 10

// isNoRoom reports whether a call ended because there was no room.
func isNoRoom(err error) bool {
	_, ok := errors.AsType[*NoRoomError](err)
	return ok
}
