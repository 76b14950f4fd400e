// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// bounds are which objects are wanted, by the values of each of their labels: all that
// some selectors select, and, since a host can be asked for one selector only, maybe more.
// The zero value wants nothing.
type bounds struct {
	// some tells that something is wanted.
	some bool
	// byKey are the labels that matter to everybody.
	byKey map[string]values
}

// everything wants all objects.
var everything = bounds{some: true}

// boundsOf wants what a selector selects.
func boundsOf(selector labels.Selector) bounds {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return bounds{}
	}
	byKey := map[string]values{}
	for _, requirement := range requirements {
		wanted := valuesOf(requirement)
		if other, known := byKey[requirement.Key()]; known {
			wanted = wanted.and(other)
		}
		if wanted.none() {
			return bounds{}
		}
		byKey[requirement.Key()] = wanted
	}
	return bounds{some: true, byKey: byKey}.asked()
}

// or wants what either wants: of each label that matters to both, the values that do for
// either. A host may have to be asked for more, see asked.
func (b bounds) or(other bounds) bounds {
	switch {
	case !b.some:
		return other
	case !other.some:
		return b
	}
	byKey := map[string]values{}
	for key, wanted := range b.byKey {
		if others, matters := other.byKey[key]; matters {
			byKey[key] = wanted.or(others)
		}
	}
	return bounds{some: true, byKey: byKey}
}

// unionOf wants what any of them wants. It goes by halves: to add one after the other would
// copy what the first of very many want again and again.
func unionOf(all []bounds) bounds {
	switch len(all) {
	case 0:
		return bounds{}
	case 1:
		return all[0]
	}
	half := len(all) / 2
	return unionOf(all[:half]).or(unionOf(all[half:]))
}

// want tells whether an object, if there is one, is among those.
func (b bounds) want(o *object.Object) bool {
	if o == nil || !b.some {
		return false
	}
	for key, wanted := range b.byKey {
		if value, there := o.Labels[key]; !wanted.has(value, there) {
			return false
		}
	}
	return true
}

func (b bounds) equal(other bounds) bool {
	return b.some == other.some && maps.EqualFunc(b.byKey, other.byKey, values.equal)
}

// cover tells whether all that the other wants is wanted.
func (b bounds) cover(other bounds) bool { return b.or(other).equal(b) }

// longestSelector is how long, in bytes, a selector may be that the host is asked with. It
// becomes a part of the URL, and what is on the way bounds the length of those.
const longestSelector = 2000

// asked are the bounds that a host can be asked for: without the labels of which it
// cannot be, and everything if that would be too long a question.
func (b bounds) asked() bounds {
	asked := bounds{some: b.some, byKey: maps.Clone(b.byKey)}
	maps.DeleteFunc(asked.byKey, func(key string, wanted values) bool {
		requirements, err := wanted.requirements(key)
		return err != nil || len(requirements) == 0
	})
	if len(asked.selector()) > longestSelector {
		return everything
	}
	return asked
}

// selector is what a host is asked for the objects; empty for all of them.
func (b bounds) selector() string {
	selector := labels.NewSelector()
	for key, wanted := range b.byKey {
		requirements, err := wanted.requirements(key)
		if err != nil {
			continue // see asked
		}
		selector = selector.Add(requirements...)
	}
	return selector.String()
}
