// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
)

// difference returns the fields in which two objects differ. A null equals a missing value, and numbers
// are equal if their values are.
func difference(before, after map[string]any) []Change {
	return compare(nil, "", before, after)
}

// compare appends the fields in which two values at a path differ.
func compare(to []Change, path string, before, after any) []Change {
	if objects, ok := bothObjects(before, after); ok {
		for _, name := range fieldsOf(objects) {
			to = compare(to, join(path, name), objects[0][name], objects[1][name])
		}
		return to
	}
	if isEqual(before, after) {
		return to
	}
	first, isList := before.([]any)
	second, staysList := after.([]any)
	if isList && staysList {
		return compareLists(to, path, first, second)
	}
	return append(to, Change{Path: path, From: before, To: after})
}

// compareLists compares lists item by item if the items correspond to one another: they have names, or their
// number is the same.
func compareLists(to []Change, path string, before, after []any) []Change {
	first, names, isNamed := named(before)
	second, namesAfter, areNamed := named(after)
	switch {
	case isNamed && areNamed && inSameOrder(names, namesAfter):
		for _, name := range union(names, namesAfter) {
			to = compare(to, fmt.Sprintf("%s[name=%s]", path, name), item(first, name), item(second, name))
		}
		return to
	case len(before) == len(after):
		for i := range before {
			to = compare(to, fmt.Sprintf("%s[%d]", path, i), before[i], after[i])
		}
		return to
	}
	return append(to, Change{Path: path, From: before, To: after})
}

// named returns the items of a list by their names, and the names in order. It is ok if all items are objects with
// unique names.
func named(list any) (items map[string]map[string]any, names []string, ok bool) {
	all, isList := list.([]any)
	if !isList {
		return nil, nil, false
	}
	items = make(map[string]map[string]any, len(all))
	for _, one := range all {
		fields, _ := one.(map[string]any)
		name, _ := fields["name"].(string)
		if name == "" || items[name] != nil {
			return nil, nil, false
		}
		items[name] = fields
		names = append(names, name)
	}
	return items, names, true
}

// item returns an item as a value that is nil if there is none.
func item(items map[string]map[string]any, name string) any {
	if one, there := items[name]; there {
		return one
	}
	return nil
}

// inSameOrder reports whether the names that are in both lists have the same order.
func inSameOrder(a, b []string) bool {
	both := func(names, others []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
	}
	return slices.Equal(both(a, b), both(b, a))
}

// union returns the names of both lists, each once.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// bothObjects reports whether two values are objects.
func bothObjects(before, after any) (objects [2]map[string]any, ok bool) {
	first, isFirst := before.(map[string]any)
	second, isSecond := after.(map[string]any)
	return [2]map[string]any{first, second}, isFirst && isSecond
}

// fieldsOf returns the names of the fields of two objects in order.
func fieldsOf(objects [2]map[string]any) []string {
	all := maps.Clone(objects[0])
	maps.Copy(all, objects[1])
	return slices.Sorted(maps.Keys(all))
}

func isEqual(a, b any) bool {
	if number, ok := asNumber(a); ok {
		other, isNumber := asNumber(b)
		return isNumber && number == other
	}
	return reflect.DeepEqual(a, b)
}

func asNumber(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

// plainName is a name of a field that needs no brackets in a path.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_$-]+$`)

// join returns the path of a field.
func join(path, name string) string {
	switch {
	case !plainName.MatchString(name):
		return path + "[" + name + "]"
	case path == "":
		return name
	default:
		return path + "." + name
	}
}
