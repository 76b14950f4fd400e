// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Follow watches a single object and nothing else of its type, as settings that are read
// from Secrets need it: no other Secret comes into memory, and the right to list and
// watch that one is enough. All who follow an object share its watch.
//
// Handler is called with the object as it is, nil if there is none: once before Follow
// returns and again after each change, one call at a time, until stop has returned. The
// error says why the host did not let the object be read by the time ctx ends.
func (w *Informers) Follow(ctx context.Context, of pipeline.Type, name types.NamespacedName, changed func(*object.Object)) (stop func(), err error) {
	watch := w.acquire(scope{of: of, only: name}, nil)
	var looking sync.Mutex
	look := func() {
		looking.Lock()
		defer looking.Unlock()
		changed(watch.Get(name))
	}
	if err := watch.waitForFirstRead(ctx); err != nil {
		w.Release(watch)
		return nil, err
	}
	subscription, err := watch.AddEventHandler(func(_, _ *object.Object) { look() })
	if err != nil {
		w.Release(watch)
		return nil, err
	}
	look()
	return func() {
		subscription.Stop()
		w.Release(watch)
	}, nil
}

// waitForFirstRead waits until the cache has been filled, or the host has refused to.
func (w *View) waitForFirstRead(ctx context.Context) error {
	select {
	case <-w.Synced():
		return nil
	default:
	}
	select {
	case <-w.Synced():
		return nil
	case <-w.informer.listFailed:
		return w.ListError()
	case <-ctx.Done():
		return fmt.Errorf("the host has not sent it: %w", context.Cause(ctx))
	}
}
