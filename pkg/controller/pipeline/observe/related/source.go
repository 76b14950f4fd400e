// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// follow makes these the rules of the answer: events of the objects that they select start a sync
// of its parent. The views that only its earlier rules needed are released.
func (o *Observer) follow(answer *Answer, rules []*rule) error {
	if o.follows(answer, rules) {
		return nil
	}
	idle, err := o.change(answer, rules)
	o.drop(idle)
	return err
}

func (o *Observer) follows(answer *Answer, rules []*rule) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return slices.Equal(o.byAnswer[answer], rules)
}

// change opens the sources that the rules need and replaces the answer's earlier rules. It returns the sources that
// no rule needs any longer, which the caller drops.
func (o *Observer) change(answer *Answer, rules []*rule) (idle []*source, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err = o.open(rules); err == nil {
		o.replace(answer, rules)
	}
	return o.takeIdle(), err
}

// Forget drops the rules of an answer, and releases the views that only these needed.
func (o *Observer) Forget(answer *Answer) {
	o.note(answer, object.Key{}, nil)
	o.forgetPermission(answer)
	// Only opening a source can fail, and without rules there is no source to open.
	_ = o.follow(answer, nil)
}

// Close drops all rules and releases all views. The observer must not be used after it.
func (o *Observer) Close() {
	o.mu.Lock()
	all := slices.Collect(maps.Values(o.sources))
	clear(o.sources)
	clear(o.byAnswer)
	permissions := slices.Collect(maps.Values(o.permissions))
	clear(o.permissions)
	o.mu.Unlock()
	o.drop(all)
	for _, permission := range permissions {
		permission.requirement.Close()
	}
}

// open opens the sources that the rules need and that are not open.
func (o *Observer) open(rules []*rule) error {
	for _, r := range rules {
		for _, of := range r.needs() {
			if o.sources[of] != nil {
				continue
			}
			view := o.Informers.Acquire(of)
			opened, err := open(view,
				func(before, after *object.Object) { o.changed(of, before, after) },
				func() { o.filled(of) })
			if err != nil {
				o.Informers.Release(view)
				return err
			}
			o.sources[of] = opened
		}
	}
	return nil
}

// replace replaces the answer's earlier rules.
func (o *Observer) replace(answer *Answer, rules []*rule) {
	for _, r := range o.byAnswer[answer] {
		o.sources[r.of].rules.remove(r)
		if r.namespaces != nil {
			o.sources[r.namespaceType].byLabels.Delete(r)
		}
	}
	for _, r := range rules {
		o.sources[r.of].rules.add(r)
		if r.namespaces != nil {
			o.sources[r.namespaceType].byLabels.Insert(r)
		}
	}
	o.byAnswer[answer] = rules
	if len(rules) == 0 {
		delete(o.byAnswer, answer)
	}
}

// takeIdle removes the sources that no rule needs, and returns them.
func (o *Observer) takeIdle() []*source {
	var idle []*source
	for of, source := range o.sources {
		if !source.needed() {
			idle = append(idle, source)
			delete(o.sources, of)
		}
	}
	return idle
}

// drop closes sources. The caller must not hold the lock, because calls in progress may need it.
func (o *Observer) drop(sources []*source) {
	for _, source := range sources {
		source.close()
		o.Informers.Release(source.view)
	}
}

// filled enqueues the parents that wait for the first list of a type.
func (o *Observer) filled(of object.Type) {
	o.mu.RLock()
	var parents []object.Key
	if source := o.sources[of]; source != nil {
		parents = source.parents()
	}
	o.mu.RUnlock()
	if len(parents) > 0 {
		o.Changed(parents...)
	}
}

// source is the view of one related type. It is open while a rule needs it.
type source struct {
	view         *cache.View
	registration *cache.Registration
	since        time.Time
	// rules are the rules for objects of the type. If it is the type of namespaces, byLabels are the rules that select
	// objects by the labels of their namespaces.
	rules    index
	byLabels sets.Set[*rule]

	stop    chan struct{}
	waiting sync.WaitGroup
}

// open opens a source for a view. The source calls changed for each event, and filled once the view has synced,
// unless the view has synced before.
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

// close stops the calls of changed and filled, and waits for those in progress.
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
