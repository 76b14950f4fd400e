// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// source is the view of one related type. It is open as long as a rule needs it.
type source struct {
	view         *cache.View
	registration *cache.Registration
	since        time.Time
	// rules are the rules about objects of the type. If it is the type of namespaces, byLabels are
	// the rules that select objects by the labels of their namespaces.
	rules    index
	byLabels sets.Set[*rule]

	stop    chan struct{}
	waiting sync.WaitGroup
}

// open opens a source for a view. It calls changed for each event. It calls filled once when the
// view has synced, but not if the view has synced before.
func open(view *cache.View, changed cache.Handler, filled func()) (*source, error) {
	registration, err := view.AddChangeHandler(changed)
	if err != nil {
		return nil, err
	}
	s := &source{
		view: view, registration: registration, since: time.Now(),
		rules: index{}, byLabels: sets.New[*rule](), stop: make(chan struct{}),
	}
	if !s.synced() {
		s.waiting.Go(func() {
			select {
			case <-view.Synced():
				filled()
			case <-s.stop:
			}
		})
	}
	return s, nil
}

// close ends the calls of changed and filled, and waits for those in progress.
func (s *source) close() {
	close(s.stop)
	s.waiting.Wait()
	s.registration.Stop()
}

func (s *source) synced() bool {
	select {
	case <-s.view.Synced():
		return true
	default:
		return false
	}
}

func (s *source) needed() bool { return len(s.rules) > 0 || len(s.byLabels) > 0 }

// parents returns the parents with a rule that needs the source.
func (s *source) parents() []object.Key {
	parents := sets.New[object.Key]()
	for _, rules := range s.rules {
		for r := range rules {
			parents.Insert(r.parent)
		}
	}
	for r := range s.byLabels {
		parents.Insert(r.parent)
	}
	return parents.UnsortedList()
}
