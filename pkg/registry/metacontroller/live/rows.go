// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// linger is the time for which rows are kept after the last reader has left.
const linger = time.Minute

// Follow passes on all objects in one call, and then those that change and the names of those that are gone, until
// ctx ends or tell returns an error. It returns the reason. The objects belong to tell.
type Follow[T memory.Object] func(ctx context.Context, tell func(changed []T, gone []types.NamespacedName) error) error

// Rows mirrors objects in the memory of the controllers into a store, but only while a client reads them, because
// each row has a cost per sync and usually no client reads it. Its methods may be called concurrently.
type Rows[T memory.Object] struct {
	store  *memory.Store[T]
	follow Follow[T]
	// begun has an element if a session has begun.
	begun chan struct{}

	mu sync.Mutex
	// runs is true while Run runs.
	runs bool
	// current is nil while nothing is kept.
	current *session
	// users counts the readers, and unused stops watching some time after the last one has left; nil while there are
	// users.
	users  int
	unused *time.Timer
}

// session is a period in which Rows keeps the store filled.
type session struct {
	// filled is closed when the store has all rows. over is closed when the rows are no longer kept; err is the
	// reason.
	filled, over chan struct{}
	err          error
	// wanted ends when no client has read rows for a while.
	wanted context.Context
	end    context.CancelFunc
}

// newRows returns rows that are not kept before Run runs.
func newRows[T memory.Object](store *memory.Store[T], follow Follow[T]) *Rows[T] {
	return &Rows[T]{store: store, follow: follow, begun: make(chan struct{}, 1)}
}

var errEnded = errors.New("this server is about to start or to stop; try again in a few seconds")

// Run keeps rows whenever a client reads them, until ctx ends.
func (r *Rows[T]) Run(ctx context.Context) {
	r.setRuns(true)
	defer r.setRuns(false)
	for {
		select {
		case <-r.begun:
			r.mu.Lock()
			current := r.current
			r.mu.Unlock()
			if current != nil {
				r.keep(ctx, current)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (r *Rows[T]) setRuns(runs bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = runs
	if !runs && r.current != nil { // it has not begun
		r.current.err = errEnded
		close(r.current.over)
		r.current = nil
	}
}

// keep keeps the rows until the session or ctx ends, or the controllers stop.
func (r *Rows[T]) keep(ctx context.Context, current *session) {
	defer r.store.Clear()
	defer context.AfterFunc(ctx, current.end)()
	defer current.end()
	isFilled := false
	err := r.follow(current.wanted, func(changed []T, gone []types.NamespacedName) error {
		r.store.Update(changed, gone)
		if !isFilled {
			isFilled = true
			close(current.filled)
		}
		return current.wanted.Err()
	})
	if ctx.Err() != nil {
		err = errEnded
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == current {
		r.current = nil
	}
	current.err = err
	close(current.over)
}

// open joins the session, or begins one, and returns the store when it has all rows. The caller must leave the session.
// The error says why this process cannot serve rows now.
func (r *Rows[T]) open(ctx context.Context) (_ *memory.Store[T], closeSession func(), err error) {
	current, err := r.enter()
	if err != nil {
		return nil, nil, err
	}
	closeSession = sync.OnceFunc(r.leave)
	select {
	case <-current.filled:
		return r.store, closeSession, nil
	case <-current.over:
		err = current.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	closeSession()
	return nil, nil, err
}

func (r *Rows[T]) enter() (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.runs {
		return nil, errEnded
	}
	r.users++
	if r.unused != nil {
		r.unused.Stop()
		r.unused = nil
	}
	if r.current == nil {
		current := &session{filled: make(chan struct{}), over: make(chan struct{})}
		current.wanted, current.end = context.WithCancel(context.Background())
		r.current = current
		select {
		case r.begun <- struct{}{}:
		default:
		}
	}
	return r.current, nil
}

func (r *Rows[T]) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users > 0 || r.current == nil {
		return
	}
	current := r.current
	r.unused = time.AfterFunc(linger, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.users == 0 && r.current == current {
			r.current = nil
			current.end()
		}
	})
}
