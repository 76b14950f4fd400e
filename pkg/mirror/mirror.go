// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

const (
	// linger is how long objects are kept after the last one has looked.
	linger = time.Minute
	// patience is how long one who looks waits for the origins.
	patience = 2 * time.Second
)

// Tell is given objects that have come or changed, and the names of those that are gone. The objects belong to it.
type Tell[T memory.Object] func(changed []T, gone []types.NamespacedName) error

// Origin has objects.
type Origin[T memory.Object] interface {
	// Follow tells all objects in one call, and then what changes, until ctx ends or tell returns an error. It returns
	// the reason.
	Follow(ctx context.Context, tell Tell[T]) error
}

// FollowFunc is an Origin that is one function.
type FollowFunc[T memory.Object] func(ctx context.Context, tell func(changed []T, gone []types.NamespacedName) error) error

// Follow calls the function.
func (f FollowFunc[T]) Follow(ctx context.Context, tell Tell[T]) error { return f(ctx, tell) }

// Origins are what a mirror shows the objects of.
type Origins[T memory.Object] struct {
	// Local is this process. Without it, nothing is shown.
	Local Origin[T]
	// Others returns the other replicas that live, by name. It is asked again and again. Nil has none.
	Others func(ctx context.Context) (map[string]Origin[T], error)
}

// Mirror keeps the objects of origins while somebody looks. Its methods may be called concurrently.
type Mirror[T memory.Object] struct {
	store   *memory.Store[T]
	origins Origins[T]
	// wanted has an element if somebody has begun to look.
	wanted chan struct{}

	mu sync.Mutex
	// session is nil while nothing is kept.
	session *session[T]
	// users is how many look, and left is when the last one stopped.
	users int
	left  time.Time
	// ended is true if Run has returned, or was never called.
	ended bool
}

// New returns a mirror that keeps objects in an empty store. It has to be run.
func New[T memory.Object](store *memory.Store[T], origins Origins[T]) *Mirror[T] {
	return &Mirror[T]{store: store, origins: origins, wanted: make(chan struct{}, 1), ended: true}
}

var errEnded = errors.New("this server is about to start or to stop; try again in a few seconds")

// Run keeps objects whenever somebody looks, until ctx ends.
func (m *Mirror[T]) Run(ctx context.Context) {
	m.setEnded(false)
	defer m.setEnded(true)
	for {
		select {
		case <-m.wanted:
			m.runSession(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (m *Mirror[T]) setEnded(ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = ended
}

// View is the sight of one who looks. It has to be closed.
type View[T memory.Object] struct {
	Store *memory.Store[T]
	// Missing are the replicas whose objects are not shown, or not as they are now.
	Missing []string

	close func()
}

// Close ends the look.
func (v *View[T]) Close() { v.close() }

// Open begins a look, and waits until all origins have told their objects, but not for long. The error is why this process
// cannot show anything now.
func (m *Mirror[T]) Open(ctx context.Context) (*View[T], error) {
	current, err := m.enter()
	if err != nil {
		return nil, err
	}
	view := &View[T]{Store: m.store, close: sync.OnceFunc(m.leave)}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-current.complete:
	case <-current.over:
	case <-timeout.C:
	case <-ctx.Done():
		view.Close()
		return nil, ctx.Err()
	}
	missing, err := current.state()
	if err != nil {
		view.Close()
		return nil, err
	}
	view.Missing = missing
	return view, nil
}

func (m *Mirror[T]) enter() (*session[T], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return nil, errEnded
	}
	m.users++
	if m.session == nil {
		m.session = newSession(m.store, m.origins)
		select {
		case m.wanted <- struct{}{}:
		default:
		}
	}
	return m.session, nil
}

func (m *Mirror[T]) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users--
	m.left = time.Now()
}

// runSession keeps objects until nobody has looked for a while, or until ctx ends.
func (m *Mirror[T]) runSession(ctx context.Context) {
	m.mu.Lock()
	current := m.session
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(linger / 10)
		defer ticker.Stop()
		for !m.endSession() {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	})
	current.run(ctx)
	watching.Wait()
	m.mu.Lock()
	if m.session == current {
		m.session = nil // the process ends
	}
	m.mu.Unlock()
}

// endSession ends the session if nobody has looked for a while. It reports whether it has.
func (m *Mirror[T]) endSession() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users > 0 || time.Since(m.left) < linger {
		return false
	}
	m.session = nil
	return true
}
