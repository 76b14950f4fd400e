// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"iter"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// index finds the rules about a type that may select an object, without looking at
// those that name others.
type index map[indexKey]sets.Set[*rule]

// indexKey is where an object may be and what it may be called; an empty field stands
// for any.
type indexKey struct{ namespace, name string }

// indexKeys are where the rule looks.
func (r *rule) indexKeys() iter.Seq[indexKey] {
	return func(yield func(indexKey) bool) {
		if len(r.names) == 0 {
			yield(indexKey{namespace: r.namespace})
			return
		}
		for _, name := range r.names {
			if !yield(indexKey{namespace: r.namespace, name: name}) {
				return
			}
		}
	}
}

func (x index) add(r *rule) {
	for place := range r.indexKeys() {
		if x[place] == nil {
			x[place] = sets.New[*rule]()
		}
		x[place].Insert(r)
	}
}

func (x index) remove(r *rule) {
	for place := range r.indexKeys() {
		x[place].Delete(r)
		if len(x[place]) == 0 {
			delete(x, place)
		}
	}
}

// at returns the rules that look where the object is.
func (x index) at(o *object.Object) iter.Seq[*rule] {
	places := []indexKey{{o.Namespace, o.Name}, {o.Namespace, ""}, {"", o.Name}, {"", ""}}
	if o.Namespace == "" {
		places = places[:2]
	}
	return func(yield func(*rule) bool) {
		for _, place := range places {
			for r := range x[place] {
				if !yield(r) {
					return
				}
			}
		}
	}
}
