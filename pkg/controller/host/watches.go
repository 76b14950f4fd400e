// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Watches shares one watch a type, or a single object, among all who need it. A watch
// starts with its first user and stops with its last.
type Watches struct {
	client *Client
	ctx    context.Context

	mu      sync.Mutex
	byScope map[scope]*Watch
}

// scope is what one watch sees: all objects of a type, or the one of a name.
type scope struct {
	of   stage.Type
	only types.NamespacedName
}

// NewWatches makes an empty set of watches, which run until they are released or
// ctx ends.
func NewWatches(ctx context.Context, client *Client) *Watches {
	return &Watches{client: client, ctx: ctx, byScope: map[scope]*Watch{}}
}

// Acquire returns the watch of a type; whoever acquires it must release it.
func (w *Watches) Acquire(of stage.Type) *Watch { return w.acquire(scope{of: of}) }

func (w *Watches) acquire(what scope) *Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := w.byScope[what]
	if watch == nil {
		watch = newWatch(w.client, what.of, what.only)
		watch.start(w.ctx)
		w.byScope[what] = watch
	}
	watch.users++
	return watch
}

// Release gives a watch back. When nobody uses it any more, it is stopped, and
// Release returns once it has.
func (w *Watches) Release(watch *Watch) {
	if w.dropUser(watch) == 0 {
		watch.stop()
	}
}

func (w *Watches) dropUser(watch *Watch) (left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch.users--
	if watch.users == 0 {
		delete(w.byScope, scope{of: watch.Type, only: watch.only})
	}
	return watch.users
}
