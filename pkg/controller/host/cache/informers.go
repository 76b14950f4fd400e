// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Informers shares one informer per type, or per single object, among all its views. An informer
// starts with its first view. It stops some time after its last view is released.
type Informers struct {
	client *host.Client
	ctx    context.Context
	linger time.Duration

	mu      sync.Mutex
	byScope map[scope]*informer
	// isShutDown is true once Shutdown has begun.
	isShutDown bool
	// stopping counts the informers that stop without a call that waits for them.
	stopping sync.WaitGroup
}

// scope is what an informer watches: all objects of a type, or the one named only.
type scope struct {
	of   object.Type
	only types.NamespacedName
}

// NewInformers returns Informers without an informer. Call Shutdown at the end; the informers also
// stop when ctx ends. An informer runs on for the time linger after its last view is released. A
// controller that replaces another one then finds the objects there and does not list them again.
func NewInformers(ctx context.Context, client *host.Client, linger time.Duration) *Informers {
	return &Informers{client: client, ctx: ctx, linger: linger, byScope: map[scope]*informer{}}
}

// Shutdown stops all informers and waits until they have ended.
func (i *Informers) Shutdown() {
	i.mu.Lock()
	i.isShutDown = true
	all := slices.Collect(maps.Values(i.byScope))
	clear(i.byScope)
	i.mu.Unlock()
	for _, informer := range all {
		informer.stop()
	}
	i.stopping.Wait()
}

// Acquire returns a view of all objects of a type. The caller must release it.
func (i *Informers) Acquire(of object.Type) *View {
	return i.acquire(scope{of: of}, nil, nil)
}

// AcquireSelected returns a view of the objects of a type that at least one of the selectors
// selects, of all objects without selectors. The caller must release it. The view shows an object
// that is no longer selected as if it were deleted.
func (i *Informers) AcquireSelected(of object.Type, selectors ...labels.Selector) *View {
	return i.AcquireFiltered(of, nil, selectors...)
}

// AcquireFiltered returns a view of those objects of AcquireSelected that the filter also lets pass. The
// host is not asked for fewer objects because of it. The filter looks at the object alone: it is called
// with the informer's lock held. Nil lets all pass.
func (i *Informers) AcquireFiltered(of object.Type, filter func(*object.Object) bool, selectors ...labels.Selector) *View {
	if slices.ContainsFunc(selectors, labels.Selector.Empty) {
		selectors = nil
	}
	return i.acquire(scope{of: of}, filter, selectors)
}

func (i *Informers) acquire(what scope, filter func(*object.Object) bool, selectors []labels.Selector) *View {
	i.mu.Lock()
	defer i.mu.Unlock()
	shared := i.byScope[what]
	if shared != nil && shared.expiry != nil {
		shared.expiry.Stop()
		shared.expiry = nil
		if !shared.isUpToDate() {
			i.stopLater(shared)
			shared = nil
		}
	}
	if shared == nil {
		shared = newInformer(i.ctx, i.client, what)
		i.byScope[what] = shared
	}
	view := newView(shared, filter, selectors)
	shared.addView(view)
	return view
}

// Release ends a view. The last view of a type leaves an informer that lingers. An informer of a
// single object does not linger, because a Secret must leave the memory at once. Neither does an
// informer that the host does not keep up to date.
func (i *Informers) Release(view *View) {
	view.stopHandlers()
	i.mu.Lock()
	released := view.informer
	if released.removeView(view) > 0 || i.byScope[released.scope] != released {
		i.mu.Unlock()
		return
	}
	if i.linger > 0 && released.scope.only.Name == "" && released.isUpToDate() {
		i.expireLater(released)
		i.mu.Unlock()
		return
	}
	delete(i.byScope, released.scope)
	i.mu.Unlock()
	released.stop()
}

// expireLater stops an informer after the linger time, unless a view is acquired until then.
func (i *Informers) expireLater(idle *informer) {
	var expiry *time.Timer
	expiry = time.AfterFunc(i.linger, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if idle.expiry == expiry && i.byScope[idle.scope] == idle {
			delete(i.byScope, idle.scope)
			i.stopLater(idle)
		}
	})
	idle.expiry = expiry
}

// stopLater stops an informer and does not wait for it.
func (i *Informers) stopLater(idle *informer) {
	if !i.isShutDown {
		i.stopping.Go(idle.stop)
	}
}
