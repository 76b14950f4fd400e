// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
)

// difference returns the path of the first field in which two JSON values differ,
// and whether they differ at all. A null differs from nothing at all in no way,
// and a number is the same however it is written.
func difference(a, b any) (path string, differ bool) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return differenceOfObjects(a, b)
		}
		if b == nil {
			return firstField(a), true
		}
	case []any:
		if b, ok := b.([]any); ok {
			return differenceOfLists(a, b)
		}
	case nil:
		if b, ok := b.(map[string]any); ok {
			return firstField(b), true
		}
		return "", b != nil
	case int64, float64:
		return "", !sameNumber(a, b)
	default:
		return "", !isScalar(b) || a != b
	}
	return "", true
}

// firstField is the path of the first field in an object that is missing as a whole.
func firstField(of map[string]any) string {
	if len(of) == 0 {
		return ""
	}
	name := slices.Min(slices.Collect(maps.Keys(of)))
	if below, ok := of[name].(map[string]any); ok {
		return join(name, firstField(below))
	}
	return name
}

func differenceOfObjects(a, b map[string]any) (string, bool) {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if below, differ := difference(a[name], b[name]); differ {
			return join(name, below), true
		}
	}
	return "", false
}

func differenceOfLists(a, b []any) (string, bool) {
	for i := range min(len(a), len(b)) {
		if below, differ := difference(a[i], b[i]); differ {
			return join(fmt.Sprintf("[%d]", i), below), true
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("[%d]", min(len(a), len(b))), true
	}
	return "", false
}

func join(name, below string) string {
	if below == "" || below[0] == '[' {
		return name + below
	}
	return name + "." + below
}

func isScalar(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// sameNumber compares two whole numbers exactly and others by their value.
func sameNumber(a, b any) bool {
	x, whole := a.(int64)
	y, bothWhole := b.(int64)
	if whole && bothWhole {
		return x == y
	}
	u, isNumber := float(a)
	v, areNumbers := float(b)
	return isNumber && areNumbers && u == v
}

func float(value any) (float64, bool) {
	switch number := value.(type) {
	case int64:
		return float64(number), true
	case float64:
		return number, true
	}
	return 0, false
}
