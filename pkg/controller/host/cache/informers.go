// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
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

// scope is the scope of an informer: all objects of a type, or only one object, by name.
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
// selects; without selectors, of all objects. The caller must release it. The view shows an object
// that is no longer selected as if it were deleted.
func (i *Informers) AcquireSelected(of object.Type, selectors ...labels.Selector) *View {
	return i.AcquireFiltered(of, nil, selectors...)
}

// AcquireFiltered is AcquireSelected with a filter: the view shows only objects for which the filter returns
// true. It does not narrow what the informer requests. The filter must read only the object: it is called
// with the informer's lock held. A nil filter accepts all objects.
func (i *Informers) AcquireFiltered(
	of object.Type, filter func(*object.Object) bool, selectors ...labels.Selector,
) *View {
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

// Follow watches a single object. Settings that are read from Secrets use it: no other Secret comes
// into memory, and the right to list and watch the one Secret is enough. All followers of an object
// share one informer.
//
// Follow calls handler with the object, nil if it does not exist: once before Follow returns, and
// again after each change until stop has returned. Calls come one at a time. If the object cannot
// be read before ctx ends, the error says why.
func (i *Informers) Follow(
	ctx context.Context, of object.Type, name types.NamespacedName, handler func(*object.Object),
) (stop func(), err error) {
	followed, err := i.FollowOne(ctx, of, name, handler)
	if err != nil {
		return nil, err
	}
	return followed.Stop, nil
}

// Followed is an object that is followed.
type Followed struct {
	informers    *Informers
	view         *View
	registration *Registration
}

// Stop ends it.
func (f *Followed) Stop() {
	f.registration.Stop()
	f.informers.Release(f.view)
}

// Err returns why changes of the object are not seen for some time; nil if they are.
func (f *Followed) Err() error { return f.view.WatchError() }

// FollowOne is like Follow.
func (i *Informers) FollowOne(
	ctx context.Context, of object.Type, name types.NamespacedName, handler func(*object.Object),
) (*Followed, error) {
	view := i.acquire(scope{of: of, only: name}, nil, nil)
	var mu sync.Mutex
	handle := func() {
		mu.Lock()
		defer mu.Unlock()
		handler(view.Get(name))
	}
	if err := view.waitForFirstRead(ctx); err != nil {
		i.Release(view)
		return nil, err
	}
	registration, err := view.AddEventHandler(func(_, _ *object.Object, _ bool) { handle() })
	if err != nil {
		i.Release(view)
		return nil, err
	}
	handle()
	return &Followed{i, view, registration}, nil
}

// waitForFirstRead waits until the view is synced or the host has refused to list.
func (v *View) waitForFirstRead(ctx context.Context) error {
	select {
	case <-v.Synced():
		return nil
	default:
	}
	select {
	case <-v.Synced():
		return nil
	case <-v.informer.listFailed:
		return v.ListError()
	case <-ctx.Done():
		return fmt.Errorf("the cluster has not sent it: %w", context.Cause(ctx))
	}
}
