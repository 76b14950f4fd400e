// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/feed"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Syncs shows the parents of all controllers that run in this process, each as a Sync. They are made when somebody
// looks. The zero value has no controllers, and a nil one shows nothing. Its methods may be called concurrently.
type Syncs struct {
	changes feed.Feed[syncKey]

	mu      sync.Mutex
	running map[v1alpha1.ControllerReference][]*Controller
}

// syncKey identifies a Sync. The controller that it is of may have stopped.
type syncKey struct {
	controller v1alpha1.ControllerReference
	parent     object.Key
	row        types.NamespacedName
}

// Follow tells all Syncs, then those that have changed and those that are gone, until ctx ends or tell returns an error.
// It returns that error, or that of ctx. Nobody may change what is told.
func (s *Syncs) Follow(ctx context.Context, tell func(changed []*v1alpha1.Sync, gone []types.NamespacedName) error) error {
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

func (s *Syncs) all() (rows []*v1alpha1.Sync) {
	for _, controller := range s.controllers() {
		for _, parent := range controller.allParents() {
			if row := controller.row(parent); row != nil {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func (s *Syncs) controllers() (all []*Controller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, controllers := range s.running {
		all = append(all, controllers...)
	}
	return all
}

// row returns the Sync of a key; nil if there is none any more.
func (s *Syncs) row(key syncKey) *v1alpha1.Sync {
	s.mu.Lock()
	controllers := slices.Clone(s.running[key.controller])
	s.mu.Unlock()
	for _, controller := range controllers {
		if row := controller.row(key.parent); row != nil {
			return row
		}
	}
	return nil
}

// add shows the parents of a controller until remove is called.
func (s *Syncs) add(c *Controller) (remove func()) {
	if s == nil {
		return func() {}
	}
	of := c.spec.reference()
	s.mu.Lock()
	if s.running == nil {
		s.running = map[v1alpha1.ControllerReference][]*Controller{}
	}
	s.running[of] = append(s.running[of], c)
	s.mu.Unlock()
	s.allChanged(c)
	return func() {
		s.mu.Lock()
		s.running[of] = slices.DeleteFunc(s.running[of], func(one *Controller) bool { return one == c })
		if len(s.running[of]) == 0 {
			delete(s.running, of)
		}
		s.mu.Unlock()
		s.allChanged(c)
	}
}

func (s *Syncs) allChanged(c *Controller) {
	if !s.changes.IsFollowed() {
		return
	}
	for _, parent := range c.allParents() {
		s.changed(c, parent)
	}
}

// changed says that what is shown of a parent has changed.
func (s *Syncs) changed(c *Controller, parent object.Key) {
	if s == nil || !s.changes.IsFollowed() {
		return
	}
	s.changes.Changed(syncKey{c.spec.reference(), parent, c.rowName(parent)})
}
