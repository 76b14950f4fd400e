// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"iter"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// index finds the rules about a type that may select an object, without looking at rules that name
// other objects.
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
