// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Watch is the cache of all objects of one type, kept up to date by one watch.
type Watch struct {
	Type     stage.Type
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	done     chan struct{}
	// users is guarded by the Watches that the watch is from.
	users int
}

const (
	byController      = "controller"
	orphanByNamespace = "orphan"
)

func newWatch(client *Client, of stage.Type) *Watch {
	lister := &listWatch{client: client, of: of}
	return &Watch{
		Type: of,
		informer: cache.NewSharedIndexInformerWithOptions(lister.listWatch(), &object.Object{}, cache.SharedIndexInformerOptions{
			ObjectDescription: of.String(),
			Indexers: cache.Indexers{
				byController:      controllerUID,
				orphanByNamespace: namespaceOfOrphan,
			},
		}),
		done: make(chan struct{}),
	}
}

func controllerUID(obj any) ([]string, error) {
	if controller := metav1.GetControllerOfNoCopy(obj.(*object.Object)); controller != nil {
		return []string{string(controller.UID)}, nil
	}
	return nil, nil
}

func namespaceOfOrphan(obj any) ([]string, error) {
	observed := obj.(*object.Object)
	if metav1.GetControllerOfNoCopy(observed) != nil {
		return nil, nil
	}
	return []string{observed.Namespace}, nil
}

// start begins to watch; stop ends it.
func (w *Watch) start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	go func() {
		defer close(w.done)
		w.informer.RunWithContext(ctx)
	}()
}

func (w *Watch) stop() {
	w.cancel()
	<-w.done
}

// WaitForSync waits until the cache has been filled. It fails when ctx ends first.
func (w *Watch) WaitForSync(ctx context.Context) error {
	select {
	case <-w.informer.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the first list of %s: %w", w.Type, context.Cause(ctx))
	}
}

// Get returns the object of that name, nil if there is none.
func (w *Watch) Get(name types.NamespacedName) *object.Object {
	key := cache.NewObjectName(name.Namespace, name.Name).String()
	found, exists, err := w.informer.GetIndexer().GetByKey(key)
	if err != nil || !exists {
		return nil
	}
	return found.(*object.Object)
}

// List returns all objects.
func (w *Watch) List() []*object.Object {
	return objects(w.informer.GetIndexer().List())
}

// ControlledBy returns the objects whose controller has this UID.
func (w *Watch) ControlledBy(uid types.UID) []*object.Object {
	found, err := w.informer.GetIndexer().ByIndex(byController, string(uid))
	if err != nil {
		return nil // the index is there, see newWatch
	}
	return objects(found)
}

// Orphans returns the objects of a namespace that have no controller; those of all
// namespaces if it is empty.
func (w *Watch) Orphans(namespace string) []*object.Object {
	indexer := w.informer.GetIndexer()
	namespaces := []string{namespace}
	if namespace == "" {
		namespaces = indexer.ListIndexFuncValues(orphanByNamespace)
	}
	var orphans []*object.Object
	for _, namespace := range namespaces {
		found, err := indexer.ByIndex(orphanByNamespace, namespace)
		if err != nil {
			return nil // the index is there, see newWatch
		}
		orphans = append(orphans, objects(found)...)
	}
	return orphans
}

func objects(found []any) []*object.Object {
	result := make([]*object.Object, len(found))
	for i := range found {
		result[i] = found[i].(*object.Object)
	}
	return result
}

// Seen tells whether the cache holds all changes up to a resource version of the
// type. A version that cannot be compared counts as seen.
func (w *Watch) Seen(resourceVersion string) bool {
	order, err := resourceversion.CompareResourceVersion(w.informer.GetIndexer().LastStoreSyncResourceVersion(), resourceVersion)
	return err != nil || order >= 0
}

// Subscription is one receiver of a watch's changes.
type Subscription struct {
	watch        *Watch
	registration cache.ResourceEventHandlerRegistration
}

// Subscribe calls changed for each object there is and then for each change: before
// is nil when an object is new, after when it is gone. Calls come one at a time.
func (w *Watch) Subscribe(changed func(before, after *object.Object)) (*Subscription, error) {
	registration, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { changed(nil, obj.(*object.Object)) },
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
