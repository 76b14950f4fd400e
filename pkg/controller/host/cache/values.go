// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
)

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
