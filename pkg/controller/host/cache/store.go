// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// store has the objects that one reflector lists and watches. It implements the reflector's store.
// The informer's lock guards it.
type store struct {
	informer *informer
	// selection is what the reflector asks the host for.
	selection selectorUnion
	// indexer has the objects: all of them once isListed is true.
	indexer  cache.Indexer
	isListed bool
	// version is the resource version that the objects are at.
	version string
	// started is the time at which the reflector started.
	started time.Time
	trouble trouble
	cancel  context.CancelFunc
}

// start starts the reflector, which runs until cancel is called.
func (s *store) start() {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(s.informer.ctx)
	s.started = time.Now()
	lister := &listWatch{
		client: s.informer.client, of: s.informer.scope.of, only: s.informer.scope.only, labels: s.selection.selector(),
		onRequest: s.informer.narrow, onWatch: s.onWatch, onList: s.onList, onWarnings: s.onWarnings,
		store: s, running: &s.informer.running,
	}
	source := &cache.ListWatch{ListWithContextFunc: lister.list, WatchFuncWithContext: lister.watch}
	reflector := cache.NewReflectorWithOptions(source, &object.Object{}, s, cache.ReflectorOptions{
		Name: "host", TypeDescription: s.informer.scope.of.String(), Clock: endingClock{ctx: ctx},
	})
	s.informer.running.Go(func() { reflector.RunWithContext(ctx) })
}

// onWatch records the result of a request for a watch.
func (s *store) onWatch(err error) {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	s.trouble.watched(err)
}

// onList records the result of a request for a list.
func (s *store) onList(err error) {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	s.trouble.listed(err)
	if err != nil {
		s.informer.onListError(err)
	}
}

// onWarnings records the warnings in the responses of the host about the type.
func (s *store) onWarnings(texts []string) {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	s.informer.warnings = texts
}

// onChanges is called when a watch sends changes from now on: after the list, if the watch begins with one.
func (s *store) onChanges() {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	s.trouble.begins()
}

// onProgress is called when a watch has sent its first change or bookmark.
func (s *store) onProgress() {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	s.trouble.progresses()
}

// onEnd is called when a watch has ended. The error is nil if it ended as watches usually do.
func (s *store) onEnd(err error) {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	s.trouble.ends(err)
}

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store) Update(obj any) error {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	after := obj.(*object.Object)
	before := get(s.indexer, after)
	if err := s.indexer.Update(after); err != nil {
		return err
	}
	s.informer.onChange(s, before, after, after.ResourceVersion)
	return nil
}

// Delete implements cache.ReflectorStore. It is also called when an object leaves the selection.
func (s *store) Delete(obj any) error {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	last := obj.(*object.Object)
	isStored := get(s.indexer, last) != nil
	if err := s.indexer.Delete(last); err != nil {
		return err
	}
	if isStored {
		s.informer.onChange(s, last, nil, last.ResourceVersion)
	} else {
		s.informer.onChange(s, nil, nil, last.ResourceVersion)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *store) Replace(list []any, resourceVersion string) error {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	after := s.newIndexer()
	if err := after.Replace(list, resourceVersion); err != nil {
		return err
	}
	if !s.isListed {
		s.trouble.progresses()
	}
	before := s.indexer
	s.indexer, s.isListed = after, true
	s.informer.onReplace(s, before, resourceVersion)
	return nil
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (s *store) Bookmark(resourceVersion string) error {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	s.informer.onChange(s, nil, nil, resourceVersion)
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// The indexes of all objects. See Index for those that are created on demand.
const (
	byController      = "controller"
	orphanByNamespace = "orphan"
)

func (s *store) newIndexer() cache.Indexer {
	indexers := cache.Indexers{byController: controllerUID, orphanByNamespace: namespaceOfOrphan}
	maps.Copy(indexers, s.informer.onDemand)
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
}

func controllerUID(obj any) ([]string, error) {
	if controller := metav1.GetControllerOfNoCopy(obj.(*object.Object)); controller != nil {
		return []string{string(controller.UID)}, nil
	}
	return nil, nil
}

func namespaceOfOrphan(obj any) ([]string, error) {
	observed := obj.(*object.Object)
	if metav1.GetControllerOfNoCopy(observed) != nil {
		return nil, nil
	}
	return []string{observed.Namespace}, nil
}

// get returns the object with the namespace and name of another one, nil if there is none.
func get(indexer cache.Indexer, like *object.Object) *object.Object {
	found, exists, err := indexer.Get(like)
	if err != nil || !exists {
		return nil
	}
	return found.(*object.Object)
}

func objects(found []any) []*object.Object {
	result := make([]*object.Object, len(found))
	for i := range found {
		result[i] = found[i].(*object.Object)
	}
	return result
}

// isAtLeast reports whether a resource version is the same as another one or newer. It returns true
// if they cannot be compared.
func isAtLeast(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order >= 0
}

// endingClock ends all waits when ctx ends. A reflector whose first request is refused pauses for
// up to a minute and does not look at its context while it waits.
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After sends the time when the duration has elapsed or ctx has ended.
func (c endingClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	waiting, cancel := context.WithTimeout(c.ctx, d)
	context.AfterFunc(waiting, func() {
		cancel()
		fired <- c.Now()
	})
	return fired
}
