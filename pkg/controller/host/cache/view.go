// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Watch is the cache of the objects of one type that one user wants: of all, of those that
// some selectors select, or of the one of a name.
type View struct {
	Type pipeline.Type
	// selectors select the objects; none select all.
	selectors []labels.Selector
	selection    selectorUnion
	informer    *informer
	// synced is closed when the user is admitted.
	synced chan struct{}

	// What follows is guarded by the shared. Admitted tells that all objects that the user
	// wants are there.
	isSynced      bool
	registrations map[*Registration]struct{}
	isReleased         bool
}

func newView(s *informer, selectors []labels.Selector) *View {
	watch := &View{
		Type: s.scope.of, selectors: selectors, selection: everything, informer: s,
		synced: make(chan struct{}), registrations: map[*Registration]struct{}{},
	}
	if len(selectors) > 0 {
		watch.selection = selectorUnion{}
	}
	for _, selector := range selectors {
		watch.selection = watch.selection.or(newSelectorUnion(selector))
	}
	return watch
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

// WaitForSync waits until the cache has been filled. It fails when ctx ends first.
func (w *View) WaitForSync(ctx context.Context) error {
	select {
	case <-w.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the first list of %s: %w", w.Type, context.Cause(ctx))
	}
}

// Synced is closed when the cache has been filled.
func (w *View) Synced() <-chan struct{} { return w.synced }

// ListError is why the host last refused to list the type; nil if it never did.
func (w *View) ListError() error {
	w.informer.mu.RLock()
	defer w.informer.mu.RUnlock()
	return w.informer.listError
}

// watchErrorDelay is how long the host may be away before that is worth telling.
const watchErrorDelay = 10 * time.Second

// WatchError is why the host has not let the type be watched for some time now; nil if it
// has.
func (w *View) WatchError() error { return w.informer.watchError(w, watchErrorDelay) }

// selects tells whether an object, if there is one, is one of those that the user wants.
// The cache may hold others.
func (w *View) selects(o *object.Object) bool {
	return o != nil && (len(w.selectors) == 0 || slices.ContainsFunc(w.selectors, func(selector labels.Selector) bool {
		return selector.Matches(labels.Set(o.Labels))
	}))
}

// Get returns the object of that name, nil if there is none.
func (w *View) Get(name types.NamespacedName) *object.Object {
	key := cache.NewObjectName(name.Namespace, name.Name).String()
	found, exists, err := w.informer.indexer().GetByKey(key)
	if err != nil || !exists || !w.selects(found.(*object.Object)) {
		return nil
	}
	return found.(*object.Object)
}

// List returns all objects.
func (w *View) List() []*object.Object { return w.selected(w.informer.indexer().List()) }

// In returns the objects of a namespace. The first call makes an index, which most
// types do without.
func (w *View) In(namespace string) []*object.Object {
	w.informer.indexByNamespace()
	return w.indexed(w.informer.indexer(), byNamespace, namespace)
}

// ControlledBy returns the objects whose controller has this UID.
func (w *View) ControlledBy(uid types.UID) []*object.Object {
	return w.indexed(w.informer.indexer(), byController, string(uid))
}

// Orphans returns the objects of a namespace that have no controller; those of all
// namespaces if it is empty.
func (w *View) Orphans(namespace string) []*object.Object {
	read := w.informer.indexer()
	if namespace != "" {
		return w.indexed(read, orphanByNamespace, namespace)
	}
	var orphans []*object.Object
	for _, namespace := range read.ListIndexFuncValues(orphanByNamespace) {
		orphans = append(orphans, w.indexed(read, orphanByNamespace, namespace)...)
	}
	return orphans
}

// indexed returns the objects that an index, which is there, has under a value.
func (w *View) indexed(read cache.Indexer, index, value string) []*object.Object {
	found, err := read.ByIndex(index, value)
	if err != nil {
		return nil // only if the index were not there
	}
	return w.selected(found)
}

func (w *View) selected(found []any) []*object.Object {
	selected := objects(found)
	if len(w.selectors) > 0 {
		selected = slices.DeleteFunc(selected, func(o *object.Object) bool { return !w.selects(o) })
	}
	return selected
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
func (w *View) Seen(resourceVersion string) bool {
	w.informer.mu.RLock()
	defer w.informer.mu.RUnlock()
	return isAtLeast(w.informer.current.version, resourceVersion)
}
