// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/feed"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Syncs shows the parents of all controllers that run in this process, each as a Sync. They are made when they are
// read. The zero value has no controllers, and a nil one shows nothing. Its methods may be called concurrently.
type Syncs struct {
	changes feed.Feed[syncKey]

	mu      sync.Mutex
	running map[v1alpha1.ControllerReference][]*Rows
}

// syncKey identifies a Sync. Its controller may have stopped.
type syncKey struct {
	controller v1alpha1.ControllerReference
	parent     object.Key
	row        types.NamespacedName
}

// Follow calls tell with all Syncs, and then with those that have changed and those that are gone, until ctx ends or
// tell returns an error. It returns that error, or the error of ctx. The caller must not change the Syncs.
func (s *Syncs) Follow(
	ctx context.Context, tell func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error,
) error {
	return s.changes.Follow(ctx,
		func() error { return tell(s.all(), nil) },
		func(keys []syncKey) error {
			var changed []*v1alpha1.Sync
			var gone []types.NamespacedName
			for _, key := range keys {
				if row := s.row(key); row != nil {
					changed = append(changed, row)
				} else {
					gone = append(gone, key.row)
				}
			}
			return tell(changed, gone)
		})
}

func (s *Syncs) all() (shown []*v1alpha1.Sync) {
	for _, rows := range s.controllers() {
		for _, parent := range rows.Observer.Parents() {
			if row := rows.Row(object.KeyOf(parent)); row != nil {
				shown = append(shown, row)
			}
		}
	}
	return shown
}

func (s *Syncs) controllers() (all []*Rows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, controllers := range s.running {
		all = append(all, controllers...)
	}
	return all
}

// row returns the Sync of a key, or nil.
func (s *Syncs) row(key syncKey) *v1alpha1.Sync {
	s.mu.Lock()
	controllers := slices.Clone(s.running[key.controller])
	s.mu.Unlock()
	for _, controller := range controllers {
		if row := controller.Row(key.parent); row != nil {
			return row
		}
	}
	return nil
}

// add shows the rows of a controller until remove is called.
func (s *Syncs) add(rows *Rows) (remove func()) {
	of := rows.Reference
	s.mu.Lock()
	if s.running == nil {
		s.running = map[v1alpha1.ControllerReference][]*Rows{}
	}
	s.running[of] = append(s.running[of], rows)
	s.mu.Unlock()
	s.allChanged(rows)
	return func() {
		s.mu.Lock()
		s.running[of] = slices.DeleteFunc(s.running[of], func(one *Rows) bool { return one == rows })
		if len(s.running[of]) == 0 {
			delete(s.running, of)
		}
		s.mu.Unlock()
		s.allChanged(rows)
	}
}

func (s *Syncs) allChanged(rows *Rows) {
	if !s.changes.IsFollowed() {
		return
	}
	for _, parent := range rows.Observer.Parents() {
		rows.Changed(object.KeyOf(parent))
	}
}
