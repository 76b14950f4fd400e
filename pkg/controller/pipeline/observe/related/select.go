// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/cache"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// groups returns the objects that the rules select: one group for each type, in the order of the
// rules, with each object once.
func (o *Observer) groups(rules []*rule) []pipeline.Related {
	var groups []pipeline.Related
	for _, r := range rules {
		i := slices.IndexFunc(groups, func(group pipeline.Related) bool { return group.Type == r.of })
		if i < 0 {
			i = len(groups)
			groups = append(groups, pipeline.Related{Type: r.of})
		}
		groups[i].Objects = append(groups[i].Objects, o.selected(r)...)
	}
	for i := range groups {
		slices.SortFunc(groups[i].Objects, byName)
		groups[i].Objects = slices.CompactFunc(groups[i].Objects, func(a, b *object.Object) bool { return byName(a, b) == 0 })
	}
	return groups
}

func byName(a, b *object.Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// selected returns the objects that a rule selects.
func (o *Observer) selected(r *rule) []*object.Object {
	labelsOf := o.labelsOf(r.in)
	return slices.DeleteFunc(o.candidates(r), func(candidate *object.Object) bool {
		return !r.selects(candidate, labelsOf)
	})
}

// candidates returns a superset of the objects that a rule selects. It is as small as the indices
// of the cache allow.
func (o *Observer) candidates(r *rule) []*object.Object {
	view := o.sources[r.of].view
	switch {
	case len(r.names) > 0 && !r.of.Namespaced:
		return named(view, "", r.names)
	case len(r.within) > 0:
		found := r.candidatesIn(view, r.within[0])
		for _, namespace := range r.within[1:] {
			found = append(found, r.candidatesIn(view, namespace)...)
		}
		return found
	case r.namespaces != nil:
		var found []*object.Object
		for _, namespace := range o.sources[r.in].view.List() {
			if r.namespaces.Matches(labels.Set(namespace.Labels)) {
				found = append(found, view.In(namespace.Name)...)
			}
		}
		return found
	default:
		return view.List()
	}
}

func (r *rule) candidatesIn(view *cache.View, namespace string) []*object.Object {
	if len(r.names) > 0 {
		return named(view, namespace, r.names)
	}
	return view.In(namespace)
}

func named(view *cache.View, namespace string, names []string) []*object.Object {
	var found []*object.Object
	for _, name := range names {
		if o := view.Get(types.NamespacedName{Namespace: namespace, Name: name}); o != nil {
			found = append(found, o)
		}
	}
	return found
}
