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

// selectorUnion are which objects are wanted, by the values of each of their labels: all that
// some selectors select, and, since a host can be asked for one selector only, maybe more.
// The zero value wants nothing.
type selectorUnion struct {
	// nonEmpty tells that something is wanted.
	nonEmpty bool
	// byKey are the labels that matter to everybody.
	byKey map[string]labelValues
}

// everything wants all objects.
var everything = selectorUnion{nonEmpty: true}

// newSelectorUnion wants what a selector selects.
func newSelectorUnion(selector labels.Selector) selectorUnion {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return selectorUnion{}
	}
	byKey := map[string]labelValues{}
	for _, requirement := range requirements {
		wanted := newLabelValues(requirement)
		if other, known := byKey[requirement.Key()]; known {
			wanted = wanted.and(other)
		}
		if wanted.isNone() {
			return selectorUnion{}
		}
		byKey[requirement.Key()] = wanted
	}
	return selectorUnion{nonEmpty: true, byKey: byKey}.expressible()
}

// or wants what either wants: of each label that matters to both, the values that do for
// either. A host may have to be asked for more, see asked.
func (b selectorUnion) or(other selectorUnion) selectorUnion {
	switch {
	case !b.nonEmpty:
		return other
	case !other.nonEmpty:
		return b
	}
	byKey := map[string]labelValues{}
	for key, wanted := range b.byKey {
		if others, matters := other.byKey[key]; matters {
			byKey[key] = wanted.or(others)
		}
	}
	return selectorUnion{nonEmpty: true, byKey: byKey}
}

// unionOf wants what any of them wants. It goes by halves: to add one after the other would
// copy what the first of very many want again and again.
func unionOf(all []selectorUnion) selectorUnion {
	switch len(all) {
	case 0:
		return selectorUnion{}
	case 1:
		return all[0]
	}
	half := len(all) / 2
	return unionOf(all[:half]).or(unionOf(all[half:]))
}

// includes tells whether an object, if there is one, is among those.
func (b selectorUnion) includes(o *object.Object) bool {
	if o == nil || !b.nonEmpty {
		return false
	}
	for key, wanted := range b.byKey {
		if value, there := o.Labels[key]; !wanted.allow(value, there) {
			return false
		}
	}
	return true
}

func (b selectorUnion) equal(other selectorUnion) bool {
	return b.nonEmpty == other.nonEmpty && maps.EqualFunc(b.byKey, other.byKey, labelValues.equal)
}

// covers tells whether all that the other wants is wanted.
func (b selectorUnion) covers(other selectorUnion) bool { return b.or(other).equal(b) }

// maxSelectorLength is how long, in bytes, a selector may be that the host is asked with. It
// becomes a part of the URL, and what is on the way bounds the length of those.
const maxSelectorLength = 2000

// expressible are the bounds that a host can be asked for: without the labels of which it
// cannot be, and everything if that would be too long a question.
func (b selectorUnion) expressible() selectorUnion {
	asked := selectorUnion{nonEmpty: b.nonEmpty, byKey: maps.Clone(b.byKey)}
	maps.DeleteFunc(asked.byKey, func(key string, wanted labelValues) bool {
		requirements, err := wanted.requirements(key)
		return err != nil || len(requirements) == 0
	})
	if len(asked.selector()) > maxSelectorLength {
		return everything
	}
	return asked
}

// selector is what a host is asked for the objects; empty for all of them.
func (b selectorUnion) selector() string {
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

// labelValues are the values that a label may have.
type labelValues struct {
	// orAbsent tells that the label need not be there.
	orAbsent bool
	// listed are the values it may have; with except, those it may not have.
	listed sets.Set[string]
	except bool
}

// newLabelValues are those that meet a requirement. Values that are compared as numbers may be
// any here.
func newLabelValues(requirement labels.Requirement) labelValues {
	listed := sets.New(requirement.Values().UnsortedList()...)
	switch requirement.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return labelValues{listed: listed}
	case selection.NotIn, selection.NotEquals:
		return labelValues{orAbsent: true, listed: listed, except: true}
	case selection.DoesNotExist:
		return labelValues{orAbsent: true}
	default:
		return labelValues{except: true}
	}
}

// and are the values that are in both.
func (v labelValues) and(other labelValues) labelValues {
	both := labelValues{orAbsent: v.orAbsent && other.orAbsent}
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
func (v labelValues) or(other labelValues) labelValues {
	either := labelValues{orAbsent: v.orAbsent || other.orAbsent, except: v.except || other.except}
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

// allow tells whether a label may have a value, or may be missing if it is not there.
func (v labelValues) allow(value string, there bool) bool {
	if !there {
		return v.orAbsent
	}
	return v.listed.Has(value) != v.except
}

func (v labelValues) isNone() bool { return !v.orAbsent && !v.except && v.listed.Len() == 0 }

func (v labelValues) equal(other labelValues) bool {
	return v.orAbsent == other.orAbsent && v.except == other.except && v.listed.Equal(other.listed)
}

// requirements are what a host is asked for these values of a label. There are none if
// the label may be as it likes, and none that say "this value or no label at all".
func (v labelValues) requirements(key string) ([]labels.Requirement, error) {
	wanted := map[selection.Operator][]string{}
	switch {
	case v.except && v.listed.Len() > 0:
		wanted[selection.NotIn] = sets.List(v.listed)
	case !v.except && !v.orAbsent:
		wanted[selection.In] = sets.List(v.listed)
	case !v.except && v.listed.Len() == 0:
		wanted[selection.DoesNotExist] = nil
	}
	if v.except && !v.orAbsent {
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
