// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"container/list"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// defaultMaxRemoved bounds the deleted objects that are kept for watches.
const defaultMaxRemoved = 5000

// Object is an API object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind has the functions that a Store needs for its objects.
type Kind[T Object] struct {
	// Resource is the resource that errors name.
	Resource schema.GroupResource
	// Copy returns a copy of an object that may be given another metadata. What it points to is shared.
	Copy func(T) T
	// New returns an empty object, for bookmarks.
	New func() T
	// Fields returns what field selectors select by; nil if they select by nothing but name and namespace.
	Fields func(T) fields.Set
	// Changing lists the selectable fields whose values can change.
	Changing []string
}

// Store keeps objects in memory. Its methods may be called concurrently.
type Store[T Object] struct {
	kind       Kind[T]
	maxRemoved int

	mu sync.Mutex
	// sequence is the version of the last change.
	sequence uint64
	// floor is the oldest version from which a watch misses nothing.
	floor uint64
	byKey map[types.NamespacedName]*entry[T]
	// byVersion has all entries in the order of their versions.
	byVersion list.List
	// removed is the number of entries of objects that are gone.
	removed int
	// ordered are the entries of the existing objects, by key; nil until inOrder computes them.
	ordered []*entry[T]
	// changed is closed and replaced with each change.
	changed chan struct{}
}

// entry is an object, as it is or as it was before it was removed. Nothing of it changes.
type entry[T Object] struct {
	key    types.NamespacedName
	object T
	// created is the version at which the object was created, and version is the version of its last change.
	created, version uint64
	// first is the version at which the first earlier object of this name was created, and gone is the version at
	// which the last one was removed. Both are zero if the store knows no earlier object.
	first, gone uint64
	removed     bool
	at          *list.Element
}

// mayHaveBeenAt reports whether an object of the name was there at a version, as far as the store knows.
func (e *entry[T]) mayHaveBeenAt(version uint64) bool {
	return e.created <= version || e.first <= version && version < e.gone
}

// New returns an empty store.
func New[T Object](kind Kind[T], now time.Time) *Store[T] {
	start := uint64(now.UnixMicro())
	return &Store[T]{
		kind: kind, maxRemoved: defaultMaxRemoved, sequence: start, floor: start,
		byKey: map[types.NamespacedName]*entry[T]{}, changed: make(chan struct{}),
	}
}

// Update stores some objects and removes others. The objects belong to the store from then on; it sets their
// resource versions.
func (s *Store[T]) Update(put []T, remove []types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.sequence
	for _, object := range put {
		s.put(object)
	}
	for _, key := range remove {
		s.remove(key)
	}
	if s.sequence != before {
		s.announce()
	}
}

// Clear removes all objects. All watches end, and all versions that were given out are too old.
func (s *Store[T]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sequence++
	s.floor, s.removed, s.ordered = s.sequence, 0, nil
	s.byKey = map[types.NamespacedName]*entry[T]{}
	s.byVersion.Init()
	s.announce()
}

func (s *Store[T]) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Store[T]) put(object T) {
	key := keyOf(object)
	stored := s.byKey[key]
	if stored != nil && !stored.removed {
		object.SetResourceVersion(stored.object.GetResourceVersion())
		if equality.Semantic.DeepEqual(stored.object, object) {
			return
		}
	}
	next := &entry[T]{key: key, object: object}
	s.sequence++
	next.version, next.created = s.sequence, s.sequence
	if stored != nil {
		s.byVersion.Remove(stored.at)
		if stored.removed {
			s.removed--
			next.first, next.gone = stored.created, stored.version
			if stored.gone > 0 {
				next.first = stored.first
			}
		} else {
			next.created, next.first, next.gone = stored.created, stored.first, stored.gone
		}
	}
	object.SetResourceVersion(formatVersion(next.version))
	next.at = s.byVersion.PushBack(next)
	s.byKey[key] = next
	if stored == nil || stored.removed || s.ordered == nil {
		s.ordered = nil
		return
	}
	at, _ := slices.BinarySearchFunc(s.ordered, key, func(one *entry[T], key types.NamespacedName) int { return compareKeys(one.key, key) })
	s.ordered[at] = next
}

func (s *Store[T]) remove(key types.NamespacedName) {
	stored := s.byKey[key]
	if stored == nil || stored.removed {
		return
	}
	s.sequence++
	gone := *stored
	gone.object, gone.version, gone.removed = s.kind.Copy(stored.object), s.sequence, true
	gone.object.SetResourceVersion(formatVersion(gone.version))
	s.byVersion.Remove(stored.at)
	gone.at = s.byVersion.PushBack(&gone)
	s.byKey[key] = &gone
	s.ordered = nil
	if s.removed++; s.removed > s.maxRemoved {
		s.dropOldest()
	}
}

// dropOldest drops the object that has been gone for the longest time.
func (s *Store[T]) dropOldest() {
	for element := s.byVersion.Front(); element != nil; element = element.Next() {
		oldest := element.Value.(*entry[T])
		if !oldest.removed {
			continue
		}
		s.byVersion.Remove(element)
		delete(s.byKey, oldest.key)
		s.floor, s.removed = oldest.version, s.removed-1
		return
	}
}

// inOrder returns the entries of the objects that are there, by key. The caller holds mu.
func (s *Store[T]) inOrder() []*entry[T] {
	if s.ordered != nil {
		return s.ordered
	}
	entries := make([]*entry[T], 0, len(s.byKey)-s.removed)
	for _, one := range s.byKey {
		if !one.removed {
			entries = append(entries, one)
		}
	}
	slices.SortFunc(entries, func(a, b *entry[T]) int { return compareKeys(a.key, b.key) })
	s.ordered = entries
	return entries
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Get returns an object. It may be given another metadata, as the encoder of an answer does. The data that it points to
// must not be changed.
func (s *Store[T]) Get(key types.NamespacedName) (object T, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored := s.byKey[key]; stored != nil && !stored.removed {
		return s.kind.Copy(stored.object), true
	}
	return object, false
}

// Selection selects objects. Nil selectors select all.
type Selection struct {
	// Namespace is empty for all namespaces.
	Namespace string
	Labels    labels.Selector
	Fields    fields.Selector
}

func (k *Kind[T]) fieldsOf(object T) fields.Set {
	set := fields.Set{}
	if k.Fields != nil {
		set = k.Fields(object)
	}
	set["metadata.name"], set["metadata.namespace"] = object.GetName(), object.GetNamespace()
	return set
}

// matches reports whether a selection selects an object.
func (k *Kind[T]) matches(selection *Selection, object T) bool {
	return (selection.Namespace == "" || selection.Namespace == object.GetNamespace()) &&
		(selection.Labels == nil || selection.Labels.Empty() || selection.Labels.Matches(labels.Set(object.GetLabels()))) &&
		(selection.Fields == nil || selection.Fields.Empty() || selection.Fields.Matches(k.fieldsOf(object)))
}

// everMatching returns the selection without its conditions on fields that change: it selects all objects that the
// selection may have selected at any time.
func (k *Kind[T]) everMatching(selection Selection) Selection {
	if selection.Fields != nil {
		selection.Fields, _ = selection.Fields.Transform(func(field, value string) (string, string, error) {
			if slices.Contains(k.Changing, field) {
				return "", "", nil
			}
			return field, value, nil
		})
	}
	return selection
}
