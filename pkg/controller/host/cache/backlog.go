// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// backlog are the changes that a handler has not been called for yet. It has one history for each
// object, however often the object changes.
//
// It joins the changes of one object, so the handler gets the first state and the last one. A state in between stays
// only if it may concern others than these: another owner, other labels or annotations. A reader of the cache may have
// seen that state, so the handler must be notified that it no longer applies. For the same reason, the backlog keeps a
// deletion, and an object that was created and deleted in the meantime.
type backlog struct {
	inOrder []*history
	// byName has the histories by the names of their objects, once there are more than fewObjects.
	byName map[types.NamespacedName]*history
}

// fewObjects is the number of histories up to which a linear search is used. Most handlers run so soon that there is
// only one history, and a map for each backlog would dominate the cost.
const fewObjects = 8

// history has the states of one object, at least two. Each state follows the one before it; the first is what the
// handler was called with last. nil means that the object does not exist.
type history struct {
	name   types.NamespacedName
	states []*object.Object
	// most stores the states of a history that has only two, which is the usual case, without a separate allocation.
	most [2]*object.Object
}

// add adds a change.
func (b *backlog) add(before, after *object.Object) {
	named := after
	if named == nil {
		named = before
	}
	name := types.NamespacedName{Namespace: named.Namespace, Name: named.Name}
	if known := b.find(name); known != nil {
		known.add(before)
		known.add(after)
		return
	}
	added := &history{name: name, most: [2]*object.Object{before, after}}
	added.states = added.most[:]
	b.inOrder = append(b.inOrder, added)
	switch {
	case b.byName != nil:
		b.byName[name] = added
	case len(b.inOrder) > fewObjects:
		b.byName = make(map[types.NamespacedName]*history, 2*len(b.inOrder))
		for _, known := range b.inOrder {
			b.byName[known.name] = known
		}
	}
}

func (b *backlog) find(name types.NamespacedName) *history {
	if b.byName != nil {
		return b.byName[name]
	}
	for _, known := range b.inOrder {
		if known.name == name {
			return known
		}
	}
	return nil
}

// emptied returns a backlog without changes, in the memory of this one if that is little.
func (b *backlog) emptied() backlog {
	if len(b.inOrder) > fewObjects {
		return backlog{}
	}
	clear(b.inOrder)
	return backlog{inOrder: b.inOrder[:0]}
}

// add adds a state, and drops those between the first and the last that a later one stands for.
func (h *history) add(state *object.Object) {
	if state == h.states[len(h.states)-1] {
		return
	}
	h.states = append(h.states, state)
	for i := len(h.states) - 2; i > 0; i-- {
		if h.isStoodFor(i) {
			h.states = slices.Delete(h.states, i, i+1)
		}
	}
}

// maxStates is the number of states from which on the annotations in between are not kept. Some
// objects have others with each change, such as a heartbeat, and a history must not grow with them.
const maxStates = 16

// isStoodFor reports whether another state stands for the one at an index. The first deletion stands
// for all between, a later state for what concerns the same. If the last state has the content of the
// first, it stands for none: it would look as if nothing had happened.
func (h *history) isStoodFor(index int) bool {
	first, last := h.states[0], h.states[len(h.states)-1]
	later := h.states[index+1:]
	if first != nil && last != nil && first.Hash == last.Hash {
		later = later[:len(later)-1]
	}
	of := h.states[index]
	if of == nil {
		return slices.Contains(h.states[:index], nil)
	}
	withAnnotations := len(h.states) <= maxStates
	return slices.ContainsFunc(later, func(state *object.Object) bool {
		return state != nil && concernTheSame(of, state, withAnnotations)
	})
}

// concernTheSame reports whether two states of an object have all that decides whom a change
// concerns in common. Of the annotations, the one with the name of a DecoratorController always counts.
func concernTheSame(a, b *object.Object, withAnnotations bool) bool {
	return maps.Equal(a.Labels, b.Labels) && (!withAnnotations || maps.Equal(a.Annotations, b.Annotations)) &&
		a.Annotations[object.DecoratorAnnotation] == b.Annotations[object.DecoratorAnnotation] &&
		slices.Equal(a.Finalizers, b.Finalizers) && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		apiequality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences)
}
