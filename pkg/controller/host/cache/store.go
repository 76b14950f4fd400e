// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

const (
	byController      = "controller"
	orphanByNamespace = "orphan"
	byNamespace       = "namespace"
)

// store are the objects of a type within some bounds, as one reflector keeps them. They
// are guarded by the shared that they are of.
type store struct {
	informer     *informer
	selection selectorUnion
	// indexer are what there is, all of it once it has been listed.
	indexer cache.Indexer
	isListed  bool
	// version is the resource version that the objects are up to.
	version string
	// watchFailure is since when the host lets nothing be watched, and why; zero if it does.
	watchFailure struct {
		since time.Time
		why   error
	}
	cancel context.CancelFunc
}

func (c *store) newIndexer() cache.Indexer {
	indexers := cache.Indexers{byController: controllerUID, orphanByNamespace: namespaceOfOrphan}
	if c.informer.hasNamespaceIndex {
		indexers[byNamespace] = cache.MetaNamespaceIndexFunc
	}
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
}

// start starts the reflector, which runs until cancel is called.
func (c *store) start() {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(c.informer.ctx)
	lister := &listWatch{
		client: c.informer.client, of: c.informer.scope.of, only: c.informer.scope.only, labels: c.selection.selector(),
		consistent: c.informer.current.isListed, onRequest: c.informer.narrow, onWatch: c.onWatch, onListError: c.informer.onListError,
	}
	reflector := cache.NewReflectorWithOptions(lister.listerWatcher(), &object.Object{}, c, cache.ReflectorOptions{
		Name: "host", TypeDescription: c.informer.scope.of.String(), Clock: endingClock{ctx: ctx},
	})
	c.informer.running.Go(func() { reflector.RunWithContext(ctx) })
}

// onWatch takes note of how the request for a watch ended.
func (c *store) onWatch(err error) {
	c.informer.mu.Lock()
	defer c.informer.mu.Unlock()
	switch {
	case err == nil:
		c.watchFailure.since, c.watchFailure.why = time.Time{}, nil
	case c.watchFailure.since.IsZero():
		c.watchFailure.since, c.watchFailure.why = time.Now(), err
	default:
		c.watchFailure.why = err
	}
}

// get returns what there is under the name of an object, nil if there is nothing.
func get(objects cache.Indexer, like *object.Object) *object.Object {
	found, exists, err := objects.Get(like)
	if err != nil || !exists {
		return nil
	}
	return found.(*object.Object)
}

// The methods below are those of a store that a reflector fills.

func (c *store) Add(obj any) error { return c.Update(obj) }

func (c *store) Update(obj any) error {
	c.informer.mu.Lock()
	defer c.informer.mu.Unlock()
	after := obj.(*object.Object)
	before := get(c.indexer, after)
	if err := c.indexer.Update(after); err != nil {
		return err
	}
	c.informer.onChange(c, before, after, after.ResourceVersion)
	return nil
}

// Delete is also called when an object leaves the bounds.
func (c *store) Delete(obj any) error {
	c.informer.mu.Lock()
	defer c.informer.mu.Unlock()
	last := obj.(*object.Object)
	known := get(c.indexer, last) != nil
	if err := c.indexer.Delete(last); err != nil {
		return err
	}
	if known {
		c.informer.onChange(c, last, nil, last.ResourceVersion)
	} else {
		c.informer.onChange(c, nil, nil, last.ResourceVersion)
	}
	return nil
}

func (c *store) Replace(list []any, resourceVersion string) error {
	c.informer.mu.Lock()
	defer c.informer.mu.Unlock()
	objects := c.newIndexer()
	if err := objects.Replace(list, resourceVersion); err != nil {
		return err
	}
	before := c.indexer
	c.indexer, c.isListed = objects, true
	c.informer.onReplace(c, before, resourceVersion)
	return nil
}

func (c *store) Bookmark(resourceVersion string) error {
	c.informer.mu.Lock()
	defer c.informer.mu.Unlock()
	c.informer.onChange(c, nil, nil, resourceVersion)
	return nil
}

func (c *store) Resync() error { return nil }

// isAtLeast tells whether one resource version is not older than another. Of those that
// cannot be compared it tells yes.
func isAtLeast(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err != nil || order >= 0
}

// endingClock lets nobody wait any longer once ctx has ended. A reflector whose first request
// is refused pauses for up to a minute, and does not look whether it is to end.
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After sends the time when the duration is over or ctx has ended.
func (c endingClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	waiting, cancel := context.WithTimeout(c.ctx, d)
	context.AfterFunc(waiting, func() {
		cancel()
		fired <- c.Now()
	})
	return fired
}
