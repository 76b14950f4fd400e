// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/stage"
)

// Watch is the cache of all objects of one type, or of one of them, kept up to date
// by one watch.
type Watch struct {
	Type stage.Type
	// only is the name of the one object that is watched; empty if all are.
	only     types.NamespacedName
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	done     chan struct{}
	// users is guarded by the Watches that the watch is from.
	users int
	// failure is why the host last refused to list or watch; nil if it never did.
	failure atomic.Pointer[error]
	// refused is closed when it does so first.
	refused chan struct{}
	refuse  func()
	// indexed adds the index by namespace for the first who needs it.
	indexed sync.Once
}

const (
	byController      = "controller"
	orphanByNamespace = "orphan"
	byNamespace       = "namespace"
)

func newWatch(client *Client, of stage.Type, only types.NamespacedName) *Watch {
	lister := &listWatch{client: client, of: of, only: only}
	watch := &Watch{
		Type: of,
		only: only,
		informer: cache.NewSharedIndexInformerWithOptions(lister.listWatch(), &object.Object{}, cache.SharedIndexInformerOptions{
			ObjectDescription: of.String(),
			Indexers: cache.Indexers{
				byController:      controllerUID,
				orphanByNamespace: namespaceOfOrphan,
			},
		}),
		done:    make(chan struct{}),
		refused: make(chan struct{}),
	}
	watch.refuse = sync.OnceFunc(func() { close(watch.refused) })
	// It could fail only if the informer ran already.
	_ = watch.informer.SetWatchErrorHandlerWithContext(watch.failed)
	return watch
}

func (w *Watch) failed(ctx context.Context, reflector *cache.Reflector, err error) {
	w.failure.Store(&err)
	w.refuse()
	cache.DefaultWatchErrorHandler(ctx, reflector, err)
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
	case <-w.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the first list of %s: %w", w.Type, context.Cause(ctx))
	}
}

// Synced is closed when the cache has been filled.
func (w *Watch) Synced() <-chan struct{} { return w.informer.HasSyncedChecker().Done() }

// Failure is why the host last refused to list or watch the type; nil if it never did.
func (w *Watch) Failure() error {
	if failure := w.failure.Load(); failure != nil {
		return *failure
	}
	return nil
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

// In returns the objects of a namespace. The first call makes an index, which most
// watches do without.
func (w *Watch) In(namespace string) []*object.Object {
	w.indexed.Do(func() {
		// It fails only when the watch has stopped, and then there is nothing to find.
		_ = w.informer.AddIndexers(cache.Indexers{byNamespace: cache.MetaNamespaceIndexFunc})
	})
	found, err := w.informer.GetIndexer().ByIndex(byNamespace, namespace)
	if err != nil {
		return nil // see above
	}
	return objects(found)
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
