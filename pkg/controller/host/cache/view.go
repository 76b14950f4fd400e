// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// View shows one user the objects of a type: all objects, the objects that its selectors select and its
// filter lets pass, or a single object. It shows nothing before it is synced.
type View struct {
	Type object.Type
	// selectors select the objects; without selectors the view shows all.
	selectors []labels.Selector
	// filter selects objects in addition to the selectors; nil selects all.
	filter func(*object.Object) bool
	// selection is the union of the selectors.
	selection selectorUnion
	informer  *informer
	// synced is closed when isSynced becomes true.
	synced chan struct{}

	// The informer's lock guards the fields below. isSynced is true once the informer has all
	// objects that the view selects.
	isSynced      bool
	registrations map[*Registration]struct{}
	isReleased    bool
}

func newView(shared *informer, filter func(*object.Object) bool, selectors []labels.Selector) *View {
	view := &View{
		Type: shared.scope.of, selectors: selectors, filter: filter, selection: everything, informer: shared,
		synced: make(chan struct{}), registrations: map[*Registration]struct{}{},
	}
	if len(selectors) > 0 {
		view.selection = selectorUnion{}
	}
	for _, selector := range selectors {
		view.selection = view.selection.or(newSelectorUnion(selector))
	}
	return view
}

// WaitForSync waits until the view is synced. It returns an error if ctx ends first.
func (v *View) WaitForSync(ctx context.Context) error {
	select {
	case <-v.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the first list of %s: %w", v.Type, context.Cause(ctx))
	}
}

// Synced returns a channel that is closed when the view has all its objects.
func (v *View) Synced() <-chan struct{} { return v.synced }

// ListError returns why the host last refused to list the type; nil if it never did. The error
// stays after a list that succeeds.
func (v *View) ListError() error {
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.listError
}

// Warnings returns the warnings of the host's responses to requests for objects of the type, for example that the
// type is deprecated. The caller must not change the result.
func (v *View) Warnings() []string {
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.warnings
}

// watchErrorDelay is the time for which a synced view must be in trouble before WatchError returns the error.
const watchErrorDelay = 10 * time.Second

// WatchError returns why the view does not follow the host: the host refuses lists or watches, or its watches break. It
// returns nil if there is no trouble, or if a synced view has had trouble only for a short time.
func (v *View) WatchError() error {
	if v.WaitsSince().IsZero() {
		return v.informer.watchError(v, watchErrorDelay)
	}
	return v.informer.watchError(v, 0)
}

// WaitsSince returns the time when the view began to wait for the host to complete its response to the list of all
// objects; zero if the view is synced.
func (v *View) WaitsSince() time.Time { return v.informer.waitsSince(v) }

// selects reports whether the view shows an object. It does not show nil. The informer may have
// objects that the view does not select.
func (v *View) selects(o *object.Object) bool {
	if o == nil || v.filter != nil && !v.filter(o) {
		return false
	}
	return len(v.selectors) == 0 || slices.ContainsFunc(v.selectors, func(selector labels.Selector) bool {
		return selector.Matches(labels.Set(o.Labels))
	})
}

// Get returns the object with a name, nil if there is none.
func (v *View) Get(name types.NamespacedName) *object.Object {
	key := cache.NewObjectName(name.Namespace, name.Name).String()
	found, exists, err := v.informer.indexer().GetByKey(key)
	if err != nil || !exists || !v.selects(found.(*object.Object)) {
		return nil
	}
	return found.(*object.Object)
}

// List returns all objects.
func (v *View) List() []*object.Object { return v.selected(v.informer.indexer().List()) }

// In returns the objects of a namespace. The first call creates an index, because most types do not
// need it.
func (v *View) In(namespace string) []*object.Object { return v.By(byNamespace, namespace) }

// ControlledBy returns the objects whose controller has a UID.
func (v *View) ControlledBy(uid types.UID) []*object.Object {
	return v.indexed(v.informer.indexer(), byController, string(uid))
}

// Orphans returns the objects without a controller in a namespace, in all namespaces if it is
// empty.
func (v *View) Orphans(namespace string) []*object.Object {
	indexer := v.informer.indexer()
	if namespace != "" {
		return v.indexed(indexer, orphanByNamespace, namespace)
	}
	var orphans []*object.Object
	for _, namespace := range indexer.ListIndexFuncValues(orphanByNamespace) {
		orphans = append(orphans, v.indexed(indexer, orphanByNamespace, namespace)...)
	}
	return orphans
}

// indexed returns the objects that an index has under a value. The index must exist.
func (v *View) indexed(indexer cache.Indexer, index, value string) []*object.Object {
	found, err := indexer.ByIndex(index, value)
	if err != nil {
		return nil // only if the index does not exist
	}
	return v.selected(found)
}

func (v *View) selected(found []any) []*object.Object {
	selected := objects(found)
	if len(v.selectors) > 0 || v.filter != nil {
		selected = slices.DeleteFunc(selected, func(o *object.Object) bool { return !v.selects(o) })
	}
	return selected
}

// Rewinds returns how often the resource versions of the type went backwards, as they do when the host's etcd is
// restored. Versions from before such a time cannot be compared with those after it.
func (v *View) Rewinds() int {
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return v.informer.rewinds
}

// Seen reports whether the view shows all changes up to a resource version of the type. It returns
// true for a version that cannot be compared.
func (v *View) Seen(resourceVersion string) bool {
	v.informer.mu.RLock()
	defer v.informer.mu.RUnlock()
	return isAtLeast(v.informer.current.version, resourceVersion)
}

// Index finds objects by values that are computed from each object alone. An informer creates it
// when it is used first, and keeps it up to date with the objects from then on.
type Index struct {
	// Name identifies the index. Indexes of all users share their names.
	Name string
	// Values returns the values of an object; none if the index is not to have the object. It is
	// called with the informer's lock held: it must not read this cache or another one.
	Values func(o *object.Object) []string
}

var byNamespace = Index{Name: "namespace", Values: func(o *object.Object) []string { return []string{o.Namespace} }}

// By returns the objects that an index has under a value.
func (v *View) By(index Index, value string) []*object.Object {
	v.informer.ensure(index)
	return v.indexed(v.informer.indexer(), index.Name, value)
}

// ensure creates an index if there is none of its name.
func (i *informer) ensure(index Index) {
	i.mu.RLock()
	exists := i.onDemand[index.Name] != nil
	i.mu.RUnlock()
	if exists {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.onDemand[index.Name] != nil {
		return
	}
	values := func(obj any) ([]string, error) { return index.Values(obj.(*object.Object)), nil }
	i.onDemand[index.Name] = values
	for _, s := range []*store{i.current, i.next} {
		if s != nil {
			// It fails only if there is an index of that name.
			_ = s.indexer.AddIndexers(cache.Indexers{index.Name: values})
		}
	}
}
