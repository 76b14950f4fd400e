// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// source is the watch of one related type, held as long as a rule needs it.
type source struct {
	watch        *cache.View
	subscription *cache.Registration
	since        time.Time
	// rules are those about objects of the type. If the type is that of namespaces,
	// byLabels are the rules about objects in namespaces with certain labels.
	rules    index
	byLabels sets.Set[*rule]

	stop    chan struct{}
	waiting sync.WaitGroup
}

// open makes a source of a watch. Changed is told the watch's changes; filled is called
// once, when its cache has been filled, unless it is already.
func open(watch *cache.View, changed cache.Handler, filled func()) (*source, error) {
	subscription, err := watch.AddChangeHandler(changed)
	if err != nil {
		return nil, err
	}
	s := &source{
		watch: watch, subscription: subscription, since: time.Now(),
		rules: index{}, byLabels: sets.New[*rule](), stop: make(chan struct{}),
	}
	if !s.synced() {
		s.waiting.Go(func() {
			select {
			case <-watch.Synced():
				filled()
			case <-s.stop:
			}
		})
	}
	return s, nil
}

// close ends the calls and waits for those under way.
func (s *source) close() {
	close(s.stop)
	s.waiting.Wait()
	s.subscription.Stop()
}

func (s *source) synced() bool {
	select {
	case <-s.watch.Synced():
		return true
	default:
		return false
	}
}

func (s *source) needed() bool { return len(s.rules) > 0 || len(s.byLabels) > 0 }

// parents are those with a rule that needs the source.
func (s *source) parents() []pipeline.Key {
	parents := sets.New[pipeline.Key]()
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
