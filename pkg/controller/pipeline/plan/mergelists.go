// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// mergeLists merges a list as the host's schema says. If the schema does not say, a list of objects
// with a field that identifies them is merged item by item, and any other list is replaced as a
// whole.
func (l location) mergeLists(observed, lastApplied, desired []any) any {
	kind := l.schema.List()
	if kind == openapi.Set && areScalars(observed, lastApplied, desired) {
		return mergeSets(observed, lastApplied, desired)
	}
	var by identity
	if kind == openapi.Map {
		by = identity(l.schema.Keys())
	}
	if kind != openapi.Atomic && !by.distinguishes(observed, lastApplied, desired) {
		by = guessIdentity(observed, lastApplied, desired)
	}
	switch {
	case len(by) > 0:
		return l.mergeItems(by, observed, lastApplied, desired)
	case desired == nil && len(observed) == 0:
		return observed // there is nothing in it to remove
	case desired == nil:
		return l.replace(observed, nullOr(lastApplied), nil)
	}
	return l.replace(observed, nullOr(lastApplied), desired)
}

// nullOr returns a list as a value; nil if there is none.
func nullOr(list []any) any {
	if list == nil {
		return nil
	}
	return list
}

// mergeItems merges lists like objects, keyed by what identifies their items. The observed order
// stays, and new items come last.
func (l location) mergeItems(by identity, observed, lastApplied, desired []any) any {
	last, wanted := by.keyed(lastApplied), by.keyed(desired)
	result := make([]any, 0, len(observed)+len(desired))
	for _, item := range observed {
		name := by.of(item)
		want, isWanted := wanted[name]
		_, wasApplied := last[name]
		switch {
		case isWanted:
			result = append(result, l.item(item).merge(item, last[name], want))
			delete(wanted, name)
		case !wasApplied:
			result = append(result, item)
		}
	}
	for _, item := range desired {
		if _, left := wanted[by.of(item)]; left {
			result = append(result, item)
		}
	}
	return result
}

// mergeSets adds what is desired, and removes what was last applied and is not desired.
func mergeSets(observed, lastApplied, desired []any) any {
	result := slices.DeleteFunc(slices.Clone(observed), func(item any) bool {
		return slices.Contains(lastApplied, item) && !slices.Contains(desired, item)
	})
	for _, item := range desired {
		if !slices.Contains(result, item) {
			result = append(result, item)
		}
	}
	return result
}

func areScalars(lists ...[]any) bool {
	return !slices.ContainsFunc(lists, func(list []any) bool {
		return slices.ContainsFunc(list, func(item any) bool { return !isScalar(item) })
	})
}

// identity are the fields that identify the items of a list.
type identity []openapi.Key

// guesses are the fields that may identify the items of a list. The first one that does so counts.
// Metacontroller guesses in this order.
var guesses = [...]string{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"}

// guessIdentity returns a field that identifies the items of the lists; nil if there is none.
func guessIdentity(lists ...[]any) identity {
	for _, name := range guesses {
		if guess := (identity{{Name: name}}); guess.distinguishes(lists...) {
			return guess
		}
	}
	return nil
}

// distinguishes reports whether the fields identify each item of the lists: there is at least one item,
// all items are objects that have the fields, and no two items of a list have the same values.
func (i identity) distinguishes(lists ...[]any) bool {
	items := 0
	for _, list := range lists {
		seen := make(map[string]struct{}, len(list))
		for _, item := range list {
			if !i.has(item) {
				return false
			}
			name := i.of(item)
			if _, twice := seen[name]; twice {
				return false
			}
			seen[name] = struct{}{}
			items++
		}
	}
	return items > 0 && len(i) > 0
}

func (i identity) has(item any) bool {
	object, ok := item.(map[string]any)
	for _, key := range i {
		ok = ok && (object[key.Name] != nil || key.Default != nil)
	}
	return ok
}

// of returns what identifies an item: its values of the fields, as they are printed.
func (i identity) of(item any) string {
	object, _ := item.(map[string]any)
	values := make([]string, len(i))
	for n, key := range i {
		value := object[key.Name]
		if value == nil {
			value = key.Default
		}
		values[n] = fmt.Sprint(value)
	}
	return strings.Join(values, "\x00")
}

func (i identity) keyed(list []any) map[string]any {
	result := make(map[string]any, len(list))
	for _, item := range list {
		result[i.of(item)] = item
	}
	return result
}
