// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// changed enqueues the parents that an event of an object concerns. It uses the rules of the last
// answers: no hook is called for an event.
func (o *Observer) changed(of object.Type, before, after *object.Object) {
	if parents := o.concerned(of, before, after); len(parents) > 0 {
		o.Changed(parents...)
	}
}

// concerned returns the parents with a rule that selects the object as it was or as it is. If the
// object is a namespace, it also returns those with a rule that selects objects by the labels of
// their namespaces and selects in this namespace only before or only after the event.
func (o *Observer) concerned(of object.Type, before, after *object.Object) []object.Key {
	o.mu.RLock()
	defer o.mu.RUnlock()
	source := o.sources[of]
	if source == nil {
		return nil
	}
	parents := sets.New[object.Key]()
	for _, state := range []*object.Object{before, after} {
		if state == nil {
			continue
		}
		for r := range source.rules.at(state) {
			if !parents.Has(r.parent) && r.selects(state, o.labelsOf(r.in)) {
				parents.Insert(r.parent)
			}
		}
	}
	for r := range source.byLabels {
		if r.selectsIn(before) != r.selectsIn(after) {
			parents.Insert(r.parent)
		}
	}
	return parents.UnsortedList()
}

// selectsIn reports whether a rule that selects by the labels of namespaces may select objects in
// this one. It is false for nil.
func (r *rule) selectsIn(namespace *object.Object) bool {
	return namespace != nil && r.namespaces.Matches(labels.Set(namespace.Labels))
}

// labelsOf returns a function that returns the labels of a namespace. The type of namespaces is in.
func (o *Observer) labelsOf(in object.Type) func(string) labels.Set {
	return func(name string) labels.Set {
		if source := o.sources[in]; source != nil {
			if namespace := source.view.Get(types.NamespacedName{Name: name}); namespace != nil {
				return namespace.Labels
			}
		}
		return nil
	}
}
