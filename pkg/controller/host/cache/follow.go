// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Follow watches a single object. Settings that are read from Secrets use it: no other Secret comes
// into memory, and the right to list and watch the one Secret is enough. All followers of an object
// share one informer.
//
// Follow calls handler with the object, nil if it does not exist: once before Follow returns, and
// again after each change until stop has returned. Calls come one at a time. If the object cannot
// be read before ctx ends, the error says why.
func (i *Informers) Follow(ctx context.Context, of object.Type, name types.NamespacedName, handler func(*object.Object)) (stop func(), err error) {
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
