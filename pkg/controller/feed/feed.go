// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// interval is the time for which the feed collects changes before it notifies a follower.
const interval = 100 * time.Millisecond

// Feed notifies its followers of the keys of objects that have changed. The zero value has no followers. Its methods
// may be called concurrently.
type Feed[K comparable] struct {
	mu sync.Mutex // for changes of followers
	// followers is never changed, but replaced; nil if there are none.
	followers atomic.Pointer[[]*follower[K]]
}

// follower has the keys that it has not received yet.
type follower[K comparable] struct {
	mu      sync.Mutex
	changed map[K]struct{}
	// wake has an element if changed may have some.
	wake chan struct{}
}

// IsFollowed reports whether the feed has a follower. It is cheap.
func (f *Feed[K]) IsFollowed() bool { return f.followers.Load() != nil }

// Changed notifies the followers that an object was added, updated, or deleted.
func (f *Feed[K]) Changed(key K) {
	followers := f.followers.Load()
	if followers == nil {
		return
	}
	for _, one := range *followers {
		one.add(key)
	}
}

// Follow calls first, and then calls tell with the keys of objects that have changed since, until ctx ends or one of
// the functions returns an error. It returns that error, or the error of ctx.
func (f *Feed[K]) Follow(ctx context.Context, first func() error, tell func(changed []K) error) error {
	me := &follower[K]{changed: map[K]struct{}{}, wake: make(chan struct{}, 1)}
	f.replace(func(all []*follower[K]) []*follower[K] { return append(all, me) })
	defer f.replace(func(all []*follower[K]) []*follower[K] {
		return slices.DeleteFunc(all, func(one *follower[K]) bool { return one == me })
	})
	if err := first(); err != nil {
		return err
	}
	for {
		select {
		case <-me.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := tell(me.take()); err != nil {
			return err
		}
	}
}

func (f *Feed[K]) replace(change func([]*follower[K]) []*follower[K]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []*follower[K]
	if before := f.followers.Load(); before != nil {
		all = slices.Clone(*before)
	}
	if all = change(all); len(all) == 0 {
		f.followers.Store(nil)
		return
	}
	f.followers.Store(&all)
}

func (f *follower[K]) add(key K) {
	f.mu.Lock()
	f.changed[key] = struct{}{}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *follower[K]) take() []K {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := slices.Collect(maps.Keys(f.changed))
	clear(f.changed)
	return taken
}
