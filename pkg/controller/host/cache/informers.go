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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Informers shares one informer a type, or a single object, among all who need it. An informer
// starts with its first view. It stops some time after its last view is released.
type Informers struct {
	client *host.Client
	ctx    context.Context
	linger time.Duration

	mu      sync.Mutex
	byScope map[scope]*informer
	// isShutDown is true once Shutdown has begun.
	isShutDown bool
	// stopping counts the informers that stop because nobody came back to them.
	stopping sync.WaitGroup
}

// scope is what one watch of the host is about: a type, or the one object of a name.
type scope struct {
	of   pipeline.Type
	only types.NamespacedName
}

// NewInformers returns informers of which none runs yet. They must be shut down, and end with ctx.
// An informer runs on for the time linger after its last view is released. A controller that
// replaces another one then finds the objects there and does not have them listed again.
func NewInformers(ctx context.Context, client *host.Client, linger time.Duration) *Informers {
	return &Informers{client: client, ctx: ctx, linger: linger, byScope: map[scope]*informer{}}
}

// Shutdown stops all informers and waits until they have ended.
func (w *Informers) Shutdown() {
	w.mu.Lock()
	w.isShutDown = true
	all := slices.Collect(maps.Values(w.byScope))
	clear(w.byScope)
	w.mu.Unlock()
	for _, informer := range all {
		informer.stop()
	}
	w.stopping.Wait()
}

// Acquire returns a watch of all objects of a type; whoever acquires it must release it.
func (w *Informers) Acquire(of pipeline.Type) *View {
	return w.acquire(scope{of: of}, nil)
}

// AcquireSelected returns a watch of the objects of a type that at least one of the
// selectors selects, of all without any; whoever acquires it must release it. An object that is no longer
// selected is to the user as if it were deleted.
func (w *Informers) AcquireSelected(of pipeline.Type, selectors ...labels.Selector) *View {
	if slices.ContainsFunc(selectors, labels.Selector.Empty) {
		return w.Acquire(of)
	}
	return w.acquire(scope{of: of}, selectors)
}

func (w *Informers) acquire(what scope, selectors []labels.Selector) *View {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.byScope[what]
	if s != nil && s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
		if !s.isUpToDate() {
			w.stopLater(s)
			s = nil
		}
	}
	if s == nil {
		s = newInformer(w.ctx, w.client, what)
		w.byScope[what] = s
	}
	view := newView(s, selectors)
	s.addView(view)
	return view
}

// Release gives a view back. The informer of a type that no other view is of lingers. The one of a
// single object does not, since a Secret is to leave the memory at once; neither does an informer
// that the host does not keep up to date.
func (w *Informers) Release(view *View) {
	view.markReleased()
	w.mu.Lock()
	released := view.informer
	if released.removeView(view) > 0 || w.byScope[released.scope] != released {
		w.mu.Unlock()
		return
	}
	if w.linger > 0 && released.scope.only.Name == "" && released.isUpToDate() {
		w.expireLater(released)
		w.mu.Unlock()
		return
	}
	delete(w.byScope, released.scope)
	w.mu.Unlock()
	released.stop()
}

// expireLater stops an informer that has no view by the time it has lingered.
func (w *Informers) expireLater(idle *informer) {
	var expiry *time.Timer
	expiry = time.AfterFunc(w.linger, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if idle.expiry == expiry && w.byScope[idle.scope] == idle {
			delete(w.byScope, idle.scope)
			w.stopLater(idle)
		}
	})
	idle.expiry = expiry
}

// stopLater stops an informer without waiting for it.
func (w *Informers) stopLater(idle *informer) {
	if !w.isShutDown {
		w.stopping.Go(idle.stop)
	}
}
