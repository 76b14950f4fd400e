// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// searches look through all objects of a type for the finalizers of the controllers of a kind. One
// search does for all controllers that there are when it begins, and for all that becomes of
// them: what is held from then on is held by this process, which takes a note of it. It is
// for a controller that comes later that there is another search.
type searches struct {
	// find looks through the objects of a type and returns the finalizers on them.
	find func(ctx context.Context, rule v1alpha1.ResourceRule) (sets.Set[string], error)
	// present are the controllers that there are.
	present func() sets.Set[types.UID]

	mu     sync.Mutex
	byType map[schema.GroupResource]*search
}

// search is one look through all objects of a type.
type search struct {
	// covers are the controllers that it does for.
	covers sets.Set[types.UID]
	// done is closed when the rest is known. The finalizers that were found are guarded by the
	// searches; those that have been taken off everything are not among them.
	done     chan struct{}
	found    sets.Set[string]
	takenOff sets.Set[string]
	err      error
}

// finds tells whether a controller's finalizer is, or may be, on objects of a type that were
// held before this process. Only a controller that no search covers has to wait for a new one.
func (s *searches) finds(ctx context.Context, rule v1alpha1.ResourceRule, controller types.UID, finalizer string) (bool, error) {
	for {
		last, begins := s.lastOf(rule, controller)
		if begins {
			s.make(ctx, rule, last)
		}
		select {
		case <-last.done:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		if !last.covers.Has(controller) {
			continue // it had begun before the controller came
		}
		if last.err != nil {
			return false, last.err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return last.found.Has(finalizer), nil
	}
}

// lastOf returns the last search of a type. If it is over and does not do for the controller it
// is a new one, which the caller makes.
func (s *searches) lastOf(rule v1alpha1.ResourceRule, controller types.UID) (last *search, begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last = s.byType[groupResourceOf(rule)]
	if last != nil {
		select {
		case <-last.done:
		default:
			return last, false
		}
		if last.covers.Has(controller) {
			return last, false
		}
	}
	last = &search{covers: s.present().Insert(controller), done: make(chan struct{}), takenOff: sets.New[string]()}
	s.byType[groupResourceOf(rule)] = last
	return last, true
}

// make makes a search.
func (s *searches) make(ctx context.Context, rule v1alpha1.ResourceRule, made *search) {
	var found sets.Set[string]
	err := errors.New("the search has not come to its end") // unless it does
	defer func() { s.end(rule, made, found, err) }()
	found, err = s.find(ctx, rule)
}

// end tells what a search has come to. One that failed does for nobody who asks later.
func (s *searches) end(rule v1alpha1.ResourceRule, ended *search, found sets.Set[string], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended.found, ended.err = found.Difference(ended.takenOff), err
	if ended.err != nil {
		delete(s.byType, groupResourceOf(rule))
	}
	close(ended.done)
}

// takenOff notes that a finalizer has been taken off all objects of a type.
func (s *searches) takenOff(rule v1alpha1.ResourceRule, finalizer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.byType[groupResourceOf(rule)]; last != nil {
		last.found.Delete(finalizer)
		last.takenOff.Insert(finalizer) // the search may still be going on
	}
}
