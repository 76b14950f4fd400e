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

// selectorUnion is a set of objects: all that at least one of several label selectors selects, and
// maybe more, so that one selector can describe the set. An object belongs to it if each of some
// labels has an allowed value. The zero value is the empty set.
type selectorUnion struct {
	nonEmpty bool
	// byKey has the allowed values of the labels that all selectors restrict.
	byKey map[string]labelValues
}

// everything is the set of all objects.
var everything = selectorUnion{nonEmpty: true}

// newSelectorUnion returns the objects that one selector selects.
func newSelectorUnion(selector labels.Selector) selectorUnion {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return selectorUnion{}
	}
	byKey := map[string]labelValues{}
	for _, requirement := range requirements {
		wanted := newLabelValues(requirement)
		if other, found := byKey[requirement.Key()]; found {
			wanted = wanted.and(other)
		}
		if wanted.isNone() {
			return selectorUnion{}
		}
		byKey[requirement.Key()] = wanted
	}
	return selectorUnion{nonEmpty: true, byKey: byKey}.expressible()
}

// or returns the union of two sets: for each label that both restrict, the values that either
// allows. One selector may be unable to describe it, see expressible.
func (u selectorUnion) or(other selectorUnion) selectorUnion {
	switch {
	case !u.nonEmpty:
		return other
	case !other.nonEmpty:
		return u
	}
	byKey := map[string]labelValues{}
	for key, wanted := range u.byKey {
		if others, found := other.byKey[key]; found {
			byKey[key] = wanted.or(others)
		}
	}
	return selectorUnion{nonEmpty: true, byKey: byKey}
}

// unionOf returns the union of all sets. It splits them in halves: adding one set after the other
// would copy the values of the first ones once for each of the others.
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

// includes reports whether an object belongs to the set. Nil does not.
func (u selectorUnion) includes(o *object.Object) bool {
	if o == nil || !u.nonEmpty {
		return false
	}
	for key, wanted := range u.byKey {
		if value, exists := o.Labels[key]; !wanted.allow(value, exists) {
			return false
		}
	}
	return true
}

func (u selectorUnion) equal(other selectorUnion) bool {
	return u.nonEmpty == other.nonEmpty && maps.EqualFunc(u.byKey, other.byKey, labelValues.equal)
}

// covers reports whether the set includes all objects of the other set.
func (u selectorUnion) covers(other selectorUnion) bool { return u.or(other).equal(u) }

// maxSelectorLength bounds a selector that is sent to the host, in bytes. It is part of the URL,
// whose length servers and proxies bound.
const maxSelectorLength = 2000

// expressible returns the set made so large that one selector describes it: without the labels
// whose values a selector cannot describe, and everything if the selector would be too long.
func (u selectorUnion) expressible() selectorUnion {
	larger := selectorUnion{nonEmpty: u.nonEmpty, byKey: maps.Clone(u.byKey)}
	maps.DeleteFunc(larger.byKey, func(key string, wanted labelValues) bool {
		requirements, err := wanted.requirements(key)
		return err != nil || len(requirements) == 0
	})
	if len(larger.selector()) > maxSelectorLength {
		return everything
	}
	return larger
}

// selector returns the selector that is sent to the host; empty for all objects.
func (u selectorUnion) selector() string {
	selector := labels.NewSelector()
	for key, wanted := range u.byKey {
		requirements, err := wanted.requirements(key)
		if err != nil {
			continue // see expressible
		}
		selector = selector.Add(requirements...)
	}
	return selector.String()
}

// labelValues are the allowed values of a label.
type labelValues struct {
	// orAbsent is true if an object without the label is allowed too.
	orAbsent bool
	// listed are the allowed values; if except is true, the values that are not allowed.
	listed sets.Set[string]
	except bool
}

// newLabelValues returns the values that meet a requirement. If the requirement compares numbers,
// it returns all values.
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

// and returns the values that both allow.
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

// or returns the values that either allows.
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

// allow reports whether a label may have a value or, if it does not exist, whether it may be
// absent.
func (v labelValues) allow(value string, exists bool) bool {
	if !exists {
		return v.orAbsent
	}
	return v.listed.Has(value) != v.except
}

func (v labelValues) isNone() bool { return !v.orAbsent && !v.except && v.listed.Len() == 0 }

func (v labelValues) equal(other labelValues) bool {
	return v.orAbsent == other.orAbsent && v.except == other.except && v.listed.Equal(other.listed)
}

// requirements returns the requirements of a selector that describe the values of a label. There
// are none if everything is allowed, and none for "one of these values or no label at all", which a
// selector cannot describe.
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
	for _, operator := range []selection.Operator{
		selection.Exists, selection.In, selection.NotIn, selection.DoesNotExist,
	} {
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
