// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Watches shares one watch a type, or a single object, among all who need it. A watch
// starts with its first user and stops with its last.
type Watches struct {
	client *Client
	ctx    context.Context

	mu      sync.Mutex
	byScope map[scope]*shared
}

// scope is what one watch of the host is about: a type, or the one object of a name.
type scope struct {
	of   pipeline.Type
	only types.NamespacedName
}

// NewWatches makes an empty set of watches, which run until they are released or
// ctx ends.
func NewWatches(ctx context.Context, client *Client) *Watches {
	return &Watches{client: client, ctx: ctx, byScope: map[scope]*shared{}}
}

// Acquire returns a watch of all objects of a type; whoever acquires it must release it.
func (w *Watches) Acquire(of pipeline.Type) *Watch {
	return w.acquire(scope{of: of}, nil)
}

// AcquireSelected returns a watch of the objects of a type that at least one of the
// selectors selects, of all without any; whoever acquires it must release it. An object that is no longer
// selected is to the user as if it were deleted.
func (w *Watches) AcquireSelected(of pipeline.Type, selectors ...labels.Selector) *Watch {
	if slices.ContainsFunc(selectors, labels.Selector.Empty) {
		return w.Acquire(of)
	}
	return w.acquire(scope{of: of}, selectors)
}

func (w *Watches) acquire(what scope, selectors []labels.Selector) *Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.byScope[what]
	if s == nil {
		s = newShared(w.ctx, w.client, what)
		w.byScope[what] = s
	}
	watch := newWatch(s, selectors)
	s.join(watch)
	return watch
}

// Release gives a watch back. When nobody uses the type any more, the host is watched for
// it no longer, and Release returns once that is so.
func (w *Watches) Release(watch *Watch) {
	watch.end()
	if w.dropUser(watch) == 0 {
		watch.shared.stop()
	}
}

func (w *Watches) dropUser(watch *Watch) (left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left = watch.shared.leave(watch)
	if left == 0 {
		delete(w.byScope, watch.shared.scope)
	}
	return left
}
