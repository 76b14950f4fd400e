// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"

	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Subscription is one receiver of a watch's changes.
type Subscription struct {
	watch        *Watch
	registration cache.ResourceEventHandlerRegistration
}

// Changed is told a change of an object: before is nil when it is new, after when it
// is gone.
type Changed func(before, after *object.Object)

// Subscribe calls changed for each object there is and then for each change. Calls
// come one at a time.
func (w *Watch) Subscribe(changed Changed) (*Subscription, error) {
	return w.subscribe(changed, true)
}

// SubscribeToChanges calls changed for each change and not for what the cache is
// filled with. Calls come one at a time.
func (w *Watch) SubscribeToChanges(changed Changed) (*Subscription, error) {
	return w.subscribe(changed, false)
}

func (w *Watch) subscribe(changed Changed, initial bool) (*Subscription, error) {
	registration, err := w.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if initial || !isInInitialList {
				changed(nil, obj.(*object.Object))
			}
		},
		UpdateFunc: func(before, after any) {
			old, new := before.(*object.Object), after.(*object.Object)
			if old.ResourceVersion != new.ResourceVersion {
				changed(old, new)
			}
		},
		DeleteFunc: func(obj any) {
			if tombstone, missed := obj.(cache.DeletedFinalStateUnknown); missed {
				obj = tombstone.Obj
			}
			if last, ok := obj.(*object.Object); ok {
				changed(last, nil)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to changes of %s: %w", w.Type, err)
	}
	return &Subscription{watch: w, registration: registration}, nil
}

// Stop ends the calls and waits for the one under way.
func (s *Subscription) Stop() error {
	return cache.ShutDownEventHandler(s.watch.informer, s.registration)
}
