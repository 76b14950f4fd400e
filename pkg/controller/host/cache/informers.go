// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Informers shares one watch a type, or a single object, among all who need it. A watch
// starts with its first user and stops with its last.
type Informers struct {
	client *host.Client
	ctx    context.Context

	mu      sync.Mutex
	byScope map[scope]*informer
}

// scope is what one watch of the host is about: a type, or the one object of a name.
type scope struct {
	of   pipeline.Type
	only types.NamespacedName
}

// NewInformers makes an empty set of watches, which run until they are released or
// ctx ends.
func NewInformers(ctx context.Context, client *host.Client) *Informers {
	return &Informers{client: client, ctx: ctx, byScope: map[scope]*informer{}}
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
	if s == nil {
		s = newInformer(w.ctx, w.client, what)
		w.byScope[what] = s
	}
	watch := newView(s, selectors)
	s.join(watch)
	return watch
}

// Release gives a watch back. When nobody uses the type any more, the host is watched for
// it no longer, and Release returns once that is so.
func (w *Informers) Release(watch *View) {
	watch.end()
	if w.dropUser(watch) == 0 {
		watch.shared.stop()
	}
}

func (w *Informers) dropUser(watch *View) (left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left = watch.shared.leave(watch)
	if left == 0 {
		delete(w.byScope, watch.shared.scope)
	}
	return left
}
