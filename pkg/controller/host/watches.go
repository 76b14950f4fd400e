// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"sync"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Watches shares one watch a type among all who need it. A watch starts with
// its first user and stops with its last.
type Watches struct {
	client *Client
	ctx    context.Context

	mu     sync.Mutex
	byType map[stage.Type]*Watch
}

// NewWatches makes an empty set of watches, which run until they are released or
// ctx ends.
func NewWatches(ctx context.Context, client *Client) *Watches {
	return &Watches{client: client, ctx: ctx, byType: map[stage.Type]*Watch{}}
}

// Acquire returns the watch of a type; whoever acquires it must release it.
func (w *Watches) Acquire(of stage.Type) *Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := w.byType[of]
	if watch == nil {
		watch = newWatch(w.client, of)
		watch.start(w.ctx)
		w.byType[of] = watch
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
		delete(w.byType, watch.Type)
	}
	return watch.users
}
