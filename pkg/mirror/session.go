// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

const (
	// retryInterval is how long an origin that could not be followed is left alone, and how often it is looked which
	// other replicas there are.
	retryInterval = time.Second
	// grace is how long the objects of a replica are shown that cannot be followed any more. It is longer than the time after which
	// others take its controllers over, so that they are not gone in between.
	grace = 15 * time.Second
)

// session is a time in which objects are kept.
type session[T memory.Object] struct {
	store   *memory.Store[T]
	origins Origins[T]
	// complete is closed when each origin has told its objects or has failed to. over is closed when the session is over.
	complete, over chan struct{}

	mu sync.Mutex
	// rows are the objects that are kept.
	rows *rows[T]
	// followed are the origins. This process is local.
	followed map[string]*followed
	// counted is true when it is known which other replicas there are.
	counted bool
}

// local is the name of this process among the origins. No replica has it.
const local = ""

// followed is an origin of a session.
type followed struct {
	// cancel ends following it.
	cancel context.CancelFunc
	// lives is true if it is one of the replicas that there are.
	lives bool
	// tells is true while it tells of changes, and tried is true if it has told its objects or has failed to.
	tells, tried bool
	// err is why it does not tell, and since is when it stopped to.
	err   error
	since time.Time
}

func newSession[T memory.Object](store *memory.Store[T], origins Origins[T]) *session[T] {
	s := &session[T]{
		store: store, origins: origins, complete: make(chan struct{}), over: make(chan struct{}),
		followed: map[string]*followed{local: {cancel: func() {}}}, counted: origins.Others == nil,
	}
	s.rows = newRows(store, s.tells)
	return s
}

// run keeps the objects of all origins until ctx ends. Then none is kept.
func (s *session[T]) run(ctx context.Context) {
	s.store.Clear()
	defer s.store.Clear()
	defer close(s.over)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { s.follow(ctx, local, s.origins.Local) })
	for s.origins.Others != nil {
		others, err := s.origins.Others(ctx)
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Failed to find out which other replicas there are", "err", err)
		}
		s.followOthers(ctx, &following, others)
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return
		}
	}
	<-ctx.Done()
}

// followOthers follows the replicas that there are. One that lives no more is followed as long as it tells, and then for a while.
func (s *session[T]) followOthers(ctx context.Context, following *sync.WaitGroup, others map[string]Origin[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, origin := range others {
		if s.followed[name] == nil {
			ctx, cancel := context.WithCancel(ctx)
			s.followed[name] = &followed{cancel: cancel, lives: true}
			following.Go(func() { s.follow(ctx, name, origin) })
		}
	}
	for name, one := range s.followed {
		if name == local {
			continue
		}
		_, one.lives = others[name]
		if one.tells || !one.tried || time.Since(one.since) <= grace {
			continue
		}
		s.rows.drop(name)
		if !one.lives {
			one.cancel()
			delete(s.followed, name)
		}
	}
	s.counted = true
	s.completeIfSo()
}

// follow follows an origin until ctx ends.
func (s *session[T]) follow(ctx context.Context, name string, origin Origin[T]) {
	for {
		first := true
		err := origin.Follow(ctx, func(changed []T, gone []types.NamespacedName) error {
			s.tell(name, changed, gone, first)
			first = false
			return ctx.Err()
		})
		s.failed(name, err)
		if ctx.Err() == nil && name != local {
			klog.FromContext(ctx).V(2).Info("Failed to follow what another replica shows", "replica", name, "err", err)
		}
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
			return
		}
	}
}

// tell stores what an origin tells. The first call has all its objects.
func (s *session[T]) tell(name string, changed []T, gone []types.NamespacedName, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.followed[name]
	if of == nil {
		return // it was dropped
	}
	if first {
		of.tells, of.tried, of.err = true, true, nil
		gone = s.rows.notAmong(name, changed)
	}
	s.rows.update(name, changed, gone)
	s.completeIfSo()
}

// tells reports whether an origin tells of changes. The caller holds mu.
func (s *session[T]) tells(name string) bool {
	of := s.followed[name]
	return of != nil && of.tells
}

// failed notes that an origin does not tell of changes any more. What this process has shown is gone at once, and what another one
// has shown stays for a while.
func (s *session[T]) failed(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.followed[name]
	if of == nil {
		return
	}
	if of.tells || !of.tried {
		of.since = time.Now()
	}
	of.tells, of.tried, of.err = false, true, err
	s.rows.silence(name)
	if name == local {
		s.rows.drop(local)
	}
	s.completeIfSo()
}

func (s *session[T]) completeIfSo() {
	for _, one := range s.followed {
		if !one.tried {
			return
		}
	}
	select {
	case <-s.complete:
	default:
		if s.counted {
			close(s.complete)
		}
	}
}

// state returns the replicas whose objects are not all shown as they are. The error is why this process shows nothing.
func (s *session[T]) state() (missing []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.followed[local]; !of.tells {
		return nil, cmp.Or(of.err, errEnded)
	}
	for _, name := range slices.Sorted(maps.Keys(s.followed)) {
		if of := s.followed[name]; name != local && of.lives && !of.tells {
			missing = append(missing, name)
		}
	}
	return missing, nil
}
