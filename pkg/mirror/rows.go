// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// rows are the objects of several origins in one store.
//
// Two origins tell the same object for a moment, while it passes from one to the other. What the former one told may arrive last,
// and no origin tells an object again that has not changed. So what was told last is shown, and what the other one has told is
// hidden. It is shown again if the one that is shown goes.
type rows[T memory.Object] struct {
	store *memory.Store[T]
	// tells reports whether an origin tells of changes. Only then is what it has told hidden: otherwise it may be out of date.
	tells func(origin string) bool
	// owner is the origin of each object that is shown.
	owner map[types.NamespacedName]string
	// hidden are the objects that are not shown, in the order in which they were told. Few objects have any.
	hidden map[types.NamespacedName][]row[T]
}

// row is an object as an origin tells it.
type row[T memory.Object] struct {
	origin string
	object T
}

func newRows[T memory.Object](store *memory.Store[T], tells func(origin string) bool) *rows[T] {
	return &rows[T]{store: store, tells: tells, owner: map[types.NamespacedName]string{}, hidden: map[types.NamespacedName][]row[T]{}}
}

// update shows what an origin tells.
func (r *rows[T]) update(origin string, changed []T, gone []types.NamespacedName) {
	for _, one := range changed {
		r.own(keyOf(one), origin)
	}
	shown, removed := r.letGo(origin, gone)
	r.store.Update(slices.Concat(changed, shown), removed)
}

// own notes that an origin has told an object last. The object that was shown until now is hidden.
func (r *rows[T]) own(key types.NamespacedName, origin string) {
	before, isShown := r.owner[key]
	if isShown && before == origin {
		return
	}
	r.forget(key, origin)
	if isShown && r.tells(before) {
		if object, found := r.store.Get(key); found {
			r.hidden[key] = append(r.hidden[key], row[T]{before, object})
		}
	}
	r.owner[key] = origin
}

// letGo notes that an origin does not have some objects any more. It returns the objects of other origins that are to be shown
// instead, and the keys of the objects that no origin has any more.
func (r *rows[T]) letGo(origin string, keys []types.NamespacedName) (shown []T, removed []types.NamespacedName) {
	for _, key := range keys {
		if r.owner[key] != origin {
			r.forget(key, origin)
			continue
		}
		if others := r.hidden[key]; len(others) > 0 {
			last := others[len(others)-1]
			r.forget(key, last.origin)
			r.owner[key], shown = last.origin, append(shown, last.object)
			continue
		}
		delete(r.owner, key)
		removed = append(removed, key)
	}
	return shown, removed
}

// silence notes that an origin does not tell of changes any more. What another one tells, too, is shown as that one tells it. The
// rest stays as it is.
func (r *rows[T]) silence(origin string) {
	r.update(origin, nil, slices.Collect(maps.Keys(r.hidden)))
}

// forget forgets a hidden object of an origin.
func (r *rows[T]) forget(key types.NamespacedName, origin string) {
	left := slices.DeleteFunc(r.hidden[key], func(one row[T]) bool { return one.origin == origin })
	if len(left) == 0 {
		delete(r.hidden, key)
		return
	}
	r.hidden[key] = left
}

// notAmong returns the objects that are shown of an origin and are not among those that it has now.
func (r *rows[T]) notAmong(origin string, present []T) (gone []types.NamespacedName) {
	keys := make(map[types.NamespacedName]bool, len(present))
	for _, one := range present {
		keys[keyOf(one)] = true
	}
	for key, owner := range r.owner {
		if owner == origin && !keys[key] {
			gone = append(gone, key)
		}
	}
	return gone
}

// drop drops all objects that are shown of an origin.
func (r *rows[T]) drop(origin string) { r.update(origin, nil, r.notAmong(origin, nil)) }

func keyOf[T memory.Object](of T) types.NamespacedName {
	return types.NamespacedName{Namespace: of.GetNamespace(), Name: of.GetName()}
}
