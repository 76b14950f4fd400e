// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// changed has the parents synced that a change of an object concerns. It only looks at
// the rules that are known: no hook is called for a change.
func (o *Observer) changed(of pipeline.Type, before, after *object.Object) {
	if parents := o.concerned(of, before, after); len(parents) > 0 {
		o.Changed(parents...)
	}
}

// concerned returns the parents with a rule that selects the object as it was or as it
// is, or that selects objects in it if it is a namespace and no longer, or only now,
// among those the rule means.
func (o *Observer) concerned(of pipeline.Type, before, after *object.Object) []pipeline.Key {
	o.mu.RLock()
	defer o.mu.RUnlock()
	source := o.sources[of]
	if source == nil {
		return nil
	}
	parents := sets.New[pipeline.Key]()
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
		if r.means(before) != r.means(after) {
			parents.Insert(r.parent)
		}
	}
	return parents.UnsortedList()
}

// means tells whether a rule with a selector of namespaces is about the objects in
// this one. There are none in a namespace that is not there.
func (r *rule) means(namespace *object.Object) bool {
	return namespace != nil && r.namespaces.Matches(labels.Set(namespace.Labels))
}

// labelsOf returns a function that tells the labels of a namespace, whose type is in.
func (o *Observer) labelsOf(in pipeline.Type) func(string) labels.Set {
	return func(name string) labels.Set {
		if source := o.sources[in]; source != nil {
			if namespace := source.watch.Get(types.NamespacedName{Name: name}); namespace != nil {
				return namespace.Labels
			}
		}
		return nil
	}
}
