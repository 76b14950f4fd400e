// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

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

// values are the values that a label may have.
type values struct {
	// absent tells that the label need not be there.
	absent bool
	// listed are the values it may have; with except, those it may not have.
	listed sets.Set[string]
	except bool
}

// valuesOf are those that meet a requirement. Values that are compared as numbers may be
// any here.
func valuesOf(requirement labels.Requirement) values {
	listed := sets.New(requirement.Values().UnsortedList()...)
	switch requirement.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return values{listed: listed}
	case selection.NotIn, selection.NotEquals:
		return values{absent: true, listed: listed, except: true}
	case selection.DoesNotExist:
		return values{absent: true}
	default:
		return values{except: true}
	}
}

// and are the values that are in both.
func (v values) and(other values) values {
	both := values{absent: v.absent && other.absent}
	switch {
	case v.except && other.except:
		both.listed, both.except = v.listed.Union(other.listed), true
	case v.except:
		both.listed = other.listed.Difference(v.listed)
	case other.except:
		both.listed = v.listed.Difference(other.listed)
	default:
		both.listed = v.listed.Intersection(other.listed)
	}
	return both
}

// or are the values that are in either.
func (v values) or(other values) values {
	either := values{absent: v.absent || other.absent, except: v.except || other.except}
	switch {
	case v.except && other.except:
		either.listed = v.listed.Intersection(other.listed)
	case v.except:
		either.listed = v.listed.Difference(other.listed)
	case other.except:
		either.listed = other.listed.Difference(v.listed)
	default:
		either.listed = v.listed.Union(other.listed)
	}
	return either
}

// has tells whether a label may have a value, or may be missing if it is not there.
func (v values) has(value string, there bool) bool {
	if !there {
		return v.absent
	}
	return v.listed.Has(value) != v.except
}

func (v values) none() bool { return !v.absent && !v.except && v.listed.Len() == 0 }

func (v values) equal(other values) bool {
	return v.absent == other.absent && v.except == other.except && v.listed.Equal(other.listed)
}

// requirements are what a host is asked for these values of a label. There are none if
// the label may be as it likes, and none that say "this value or no label at all".
func (v values) requirements(key string) ([]labels.Requirement, error) {
	wanted := map[selection.Operator][]string{}
	switch {
	case v.except && v.listed.Len() > 0:
		wanted[selection.NotIn] = sets.List(v.listed)
	case !v.except && !v.absent:
		wanted[selection.In] = sets.List(v.listed)
	case !v.except && v.listed.Len() == 0:
		wanted[selection.DoesNotExist] = nil
	}
	if v.except && !v.absent {
		wanted[selection.Exists] = nil
	}
	var requirements []labels.Requirement
	for _, operator := range []selection.Operator{selection.Exists, selection.In, selection.NotIn, selection.DoesNotExist} {
		listed, ok := wanted[operator]
		if !ok {
			continue
		}
		requirement, err := labels.NewRequirement(key, operator, listed)
		if err != nil {
			return nil, err
		}
		requirements = append(requirements, *requirement)
	}
	return requirements, nil
}
