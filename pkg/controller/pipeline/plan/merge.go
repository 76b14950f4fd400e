// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// location is the place of a value in a child, with the known schema of the value. The zero value has no schema.
type location struct {
	// schema is the host's schema of the value; nil if there is none. described is true if the host describes the
	// child, even if it does not describe this value.
	schema    *openapi.Type
	described bool
	// ownersKnown is true if it is known who owns the value: ours has the fields that we own, others those that
	// others own. A field may be in neither.
	ownersKnown  bool
	ours, others fieldSets
	// unset is true if the host treats the desired value like a missing field. The value that the host sets instead
	// has no owner.
	unset bool
	// root is true if the value is the child itself.
	root bool
}

// rootOf returns the location of an entire observed child.
func rootOf(schema *openapi.Type, observed *object.Object) (location, error) {
	l := location{schema: schema, described: schema != nil, ownersKnown: observed.Owners != "", root: true}
	if l.ownersKnown {
		var owners struct{ Ours, Others fieldSets }
		if err := json.Unmarshal([]byte(observed.Owners), &owners); err != nil {
			return location{}, fmt.Errorf("managed fields of %s: %w", observed, err)
		}
		l.ours, l.others = owners.Ours, owners.Others
	}
	return l, nil
}

// merge merges three ways: it removes from observed the fields that were last applied and are no longer desired, and
// adds the desired ones. Fields that others have written stay. A desired value that is already there, in the form that
// the host gives it, stays as it is. merge may change observed, and returns the result.
//
// A desired null removes the last applied fields from an object, and the last applied items from a list that is merged
// item by item. It removes any other value as a whole.
func (l location) merge(observed, lastApplied, desired any) any {
	switch observed := observed.(type) {
	case map[string]any:
		if wanted, ok := orNull[map[string]any](desired); ok {
			last, _ := lastApplied.(map[string]any)
			return l.mergeObjects(observed, last, wanted)
		}
	case []any:
		if wanted, ok := orNull[[]any](desired); ok {
			last, _ := lastApplied.([]any)
			return l.mergeLists(observed, last, wanted)
		}
	}
	return l.replace(observed, lastApplied, desired)
}

func (l location) mergeObjects(observed, lastApplied, desired map[string]any) map[string]any {
	for name := range lastApplied {
		if _, still := desired[name]; !still {
			delete(observed, name)
		}
	}
	for name, wanted := range desired {
		if observed[name] == nil && l.schema.Drops(name, wanted) {
			continue
		}
		below := l.field(name)
		below.unset = l.unsets(name, wanted)
		merged := below.merge(observed[name], lastApplied[name], wanted)
		if merged == nil {
			delete(observed, name)
			continue
		}
		observed[name] = merged
	}
	return observed
}

// replace returns the desired value, or the observed one if that means the same.
func (l location) replace(observed, lastApplied, desired any) any {
	if observed != nil && same(l.schema, observed, desired) || l.isHostsForm(observed, lastApplied, desired) {
		return observed
	}
	return desired
}

func orNull[T any](value any) (T, bool) {
	typed, ok := value.(T)
	return typed, ok || value == nil
}

// mergeLists merges a list as the host's schema says. If the schema does not say, mergeLists merges a list of objects
// item by item if a field identifies them, and replaces any other list.
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
		return observed // nothing to remove
	case desired == nil:
		return l.replace(observed, nullOr(lastApplied), nil)
	}
	return l.replace(observed, nullOr(lastApplied), desired)
}

// nullOr returns a list as a value; an untyped nil for a nil list.
func nullOr(list []any) any {
	if list == nil {
		return nil
	}
	return list
}

// mergeItems merges lists like objects, keyed by the identity of their items. The observed order stays, and new items
// come last.
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

// mergeSets adds the desired items, and removes items that were last applied and are not desired.
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

// identity has the fields that identify the items of a list.
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

// of returns the identity of an item: its printed values of the fields.
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

// field returns the location of a field of the object here.
func (l location) field(name string) location {
	below := location{
		schema: l.schema.Field(name), described: l.described,
		ownersKnown: l.ownersKnown, ours: l.ours.field(name), others: l.others.field(name),
	}
	if l.root && name == "metadata" {
		below.ownersKnown = false // object.Object.Owners leaves out metadata
	}
	return below
}

// unsets reports whether the host treats a field with this value as not set. If the host does not describe the child,
// that may be any field with an empty value.
func (l location) unsets(name string, value any) bool {
	if l.described {
		return l.schema.Drops(name, value)
	}
	switch value := value.(type) {
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	case int64, float64:
		return sameNumber(value, int64(0))
	default:
		return value == nil || value == "" || value == false
	}
}

// item returns the location of an item of the list here.
func (l location) item(observed any) location {
	return location{
		schema: l.schema.Items(), described: l.described,
		ownersKnown: l.ownersKnown, ours: l.ours.item(observed), others: l.others.item(observed),
	}
}

// isHostsForm reports whether observed is the host's form of a value that was last applied and is still
// desired: the host and its admission webhooks default, rewrite and extend values. It returns false so that
// the desired value is written again, in two cases: another client owns the value, because it has changed it;
// or no client owns it, because another client has changed it and has given up its ownership since.
//
// Managed fields do not show who has removed an item from a list whose items have owners of their own. If the
// list may be such a list, all items must be there.
func (l location) isHostsForm(observed, lastApplied, desired any) bool {
	if !l.ownersKnown || len(l.others) > 0 || len(l.ours) == 0 && !l.unset || observed == nil {
		return false
	}
	if _, changed := difference(lastApplied, desired); changed {
		return false
	}
	list, isList := observed.([]any)
	ownedAsAWhole := l.described && (l.schema.List() == openapi.Atomic || l.schema.List() == openapi.Unknown)
	return !isList || ownedAsAWhole || l.covers(list, desired)
}

// covers reports whether observed contains everything that is wanted.
func (l location) covers(observed, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		observed, ok := observed.(map[string]any)
		for name, value := range wanted {
			ok = ok && (l.field(name).covers(observed[name], value) || observed[name] == nil && l.schema.Drops(name, value))
		}
		return ok
	case []any:
		observed, ok := observed.([]any)
		for _, item := range wanted {
			ok = ok && l.item(nil).isIn(observed, item)
		}
		return ok
	default:
		return same(l.schema, observed, wanted)
	}
}

func (l location) isIn(list []any, wanted any) bool {
	for _, candidate := range list {
		if l.covers(candidate, wanted) {
			return true
		}
	}
	return false
}

// fieldSets are the fields at a location and below it that several owners have, each set in the form of fieldsV1 in
// managedFields.
type fieldSets []map[string]any

// field returns the sets of a field of the object here. An empty set names all that is below it.
func (f fieldSets) field(name string) fieldSets {
	var below fieldSets
	for _, set := range f {
		if len(set) == 0 {
			below = append(below, set)
		} else if named, ok := set["f:"+name].(map[string]any); ok {
			below = append(below, named)
		}
	}
	return below
}

// item returns the sets of an item of the list here, if its keys identify it.
func (f fieldSets) item(item any) fieldSets {
	var below fieldSets
	for _, set := range f {
		if len(set) == 0 {
			below = append(below, set)
		}
		for element, named := range set {
			key, isKey := strings.CutPrefix(element, "k:")
			if named, ok := named.(map[string]any); ok && isKey && hasKey(item, key) {
				below = append(below, named)
			}
		}
	}
	return below
}

// hasKey reports whether an item of a list has the fields of a key.
func hasKey(item any, key string) bool {
	var fields map[string]any
	if err := json.Unmarshal([]byte(key), &fields); err != nil {
		return false
	}
	object, ok := item.(map[string]any)
	for name, value := range fields {
		_, differ := difference(object[name], value)
		ok = ok && !differ
	}
	return ok
}
