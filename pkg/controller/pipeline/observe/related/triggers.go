// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host/discovery"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// changed enqueues the parents that an event of an object concerns. It uses the rules of the last answers: an
// event does not call a hook.
func (o *Observer) changed(of object.Type, before, after *object.Object) {
	if parents := o.concerned(of, before, after); len(parents) > 0 {
		o.Changed(parents...)
	}
}

// concerned returns the parents with a rule that selects the object before or after the event. If the object is
// a namespace, it also returns the parents with a rule that, by the labels of namespaces, selects the objects
// in this one only before or only after the event.
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
			if !parents.Has(r.parent) && r.selects(state, o.labelsOf(r.namespaceType)) {
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

// selectsIn reports whether a rule that selects by the labels of namespaces may select objects in this one. It
// returns false for nil.
func (r *rule) selectsIn(namespace *object.Object) bool {
	return namespace != nil && r.namespaces.Matches(labels.Set(namespace.Labels))
}

// labelsOf returns a function that returns the labels of a namespace.
func (o *Observer) labelsOf(namespaceType object.Type) func(string) labels.Set {
	return func(name string) labels.Set {
		if source := o.sources[namespaceType]; source != nil {
			if namespace := source.view.Get(types.NamespacedName{Name: name}); namespace != nil {
				return namespace.Labels
			}
		}
		return nil
	}
}

// index finds the rules for a type that may select an object, without a look at rules that name other objects.
type index map[indexKey]sets.Set[*rule]

// indexKey is a namespace and a name that a rule selects. An empty field means any.
type indexKey struct{ namespace, name string }

// indexKeys returns the namespaces and names that the rule selects.
func (r *rule) indexKeys() iter.Seq[indexKey] {
	namespaces, names := r.within, r.names
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	if len(names) == 0 {
		names = []string{""}
	}
	return func(yield func(indexKey) bool) {
		for _, namespace := range namespaces {
			for _, name := range names {
				if !yield(indexKey{namespace, name}) {
					return
				}
			}
		}
	}
}

func (x index) add(r *rule) {
	for key := range r.indexKeys() {
		if x[key] == nil {
			x[key] = sets.New[*rule]()
		}
		x[key].Insert(r)
	}
}

func (x index) remove(r *rule) {
	for key := range r.indexKeys() {
		x[key].Delete(r)
		if len(x[key]) == 0 {
			delete(x, key)
		}
	}
}

// at returns the rules with an index key that the object matches.
func (x index) at(o *object.Object) iter.Seq[*rule] {
	keys := []indexKey{{o.Namespace, o.Name}, {o.Namespace, ""}, {"", o.Name}, {"", ""}}
	if o.Namespace == "" {
		keys = keys[:2]
	}
	return func(yield func(*rule) bool) {
		for _, key := range keys {
			for r := range x[key] {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// missingType is a type that a rule names and the host does not have.
type missingType struct {
	parent object.Key
	discovery.UnknownTypeError
}

// note records whether a rule of an answer names a type that the host does not have. The error is the error of
// Observe.
func (o *Observer) note(answer *Answer, parent object.Key, err error) {
	unknown, missing := errors.AsType[*discovery.UnknownTypeError](err)
	o.mu.RLock()
	_, noted := o.missing[answer]
	o.mu.RUnlock()
	if !missing && !noted {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if missing {
		o.missing[answer] = missingType{parent, *unknown}
	} else {
		delete(o.missing, answer)
	}
}

// MissesTypeOf reports whether a rule names a type of the API group that the host does not have.
func (o *Observer) MissesTypeOf(group string) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, missing := range o.missing {
		if version, err := schema.ParseGroupVersion(missing.APIVersion); err == nil && version.Group == group {
			return true
		}
	}
	return false
}

// Recheck enqueues the parents whose rules name types that were missing and that the host has now.
func (o *Observer) Recheck(ctx context.Context) {
	o.mu.RLock()
	missing := slices.Collect(maps.Values(o.missing))
	o.mu.RUnlock()
	found := map[discovery.UnknownTypeError]bool{}
	for _, m := range missing {
		if _, asked := found[m.UnknownTypeError]; !asked {
			_, err := o.Resolve(ctx, m.APIVersion, m.Resource)
			found[m.UnknownTypeError] = err == nil
		}
		if found[m.UnknownTypeError] {
			o.Changed(m.parent)
		}
	}
}
