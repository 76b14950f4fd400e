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

// contents are the objects of a type within some bounds, as one reflector keeps them. They
// are guarded by the shared that they are of.
type contents struct {
	of     *informer
	bounds bounds
	// objects are what there is, all of it once it has been listed.
	objects cache.Indexer
	listed  bool
	// version is the resource version that the objects are up to.
	version string
	// blind is since when the host lets nothing be watched, and why; zero if it does.
	blind struct {
		since time.Time
		why   error
	}
	cancel context.CancelFunc
}

func (c *contents) empty() cache.Indexer {
	indexers := cache.Indexers{byController: controllerUID, orphanByNamespace: namespaceOfOrphan}
	if c.of.byNamespace {
		indexers[byNamespace] = cache.MetaNamespaceIndexFunc
	}
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
}

// fill starts the reflector, which runs until cancel is called.
func (c *contents) fill() {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(c.of.ctx)
	lister := &listWatch{
		client: c.of.client, of: c.of.scope.of, only: c.of.scope.only, labels: c.bounds.selector(),
		consistent: c.of.current.listed, onRequest: c.of.narrow, onWatch: c.watched, onListError: c.of.refused,
	}
	reflector := cache.NewReflectorWithOptions(lister.listerWatcher(), &object.Object{}, c, cache.ReflectorOptions{
		Name: "host", TypeDescription: c.of.scope.of.String(), Clock: endingClock{ctx: ctx},
	})
	c.of.running.Go(func() { reflector.RunWithContext(ctx) })
}

// watched takes note of how the request for a watch ended.
func (c *contents) watched(err error) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	switch {
	case err == nil:
		c.blind.since, c.blind.why = time.Time{}, nil
	case c.blind.since.IsZero():
		c.blind.since, c.blind.why = time.Now(), err
	default:
		c.blind.why = err
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

func (c *contents) Add(obj any) error { return c.Update(obj) }

func (c *contents) Update(obj any) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	after := obj.(*object.Object)
	before := get(c.objects, after)
	if err := c.objects.Update(after); err != nil {
		return err
	}
	c.of.took(c, before, after, after.ResourceVersion)
	return nil
}

// Delete is also called when an object leaves the bounds.
func (c *contents) Delete(obj any) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	last := obj.(*object.Object)
	known := get(c.objects, last) != nil
	if err := c.objects.Delete(last); err != nil {
		return err
	}
	if known {
		c.of.took(c, last, nil, last.ResourceVersion)
	} else {
		c.of.took(c, nil, nil, last.ResourceVersion)
	}
	return nil
}

func (c *contents) Replace(list []any, resourceVersion string) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	objects := c.empty()
	if err := objects.Replace(list, resourceVersion); err != nil {
		return err
	}
	before := c.objects
	c.objects, c.listed = objects, true
	c.of.relisted(c, before, resourceVersion)
	return nil
}

func (c *contents) Bookmark(resourceVersion string) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.took(c, nil, nil, resourceVersion)
	return nil
}

func (c *contents) Resync() error { return nil }

// reaches tells whether one resource version is not older than another. Of those that
// cannot be compared it tells yes.
func reaches(version, other string) bool {
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
