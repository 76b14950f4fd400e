// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// location is the location of a value in a child, with what is known about the value. The zero value
// knows nothing.
type location struct {
	// schema is how the host describes the value; nil if it does not. described is true if
	// the host describes the child, even if not this value.
	schema    *openapi.Type
	described bool
	// ownersKnown is true if it is known who owns the value: ours has the fields that we own, and
	// others those of others. A field may be in neither.
	ownersKnown  bool
	ours, others fieldSets
	// unset is true if the host treats the desired value like a missing field. The value that the
	// host fills in for it has no owner.
	unset bool
	// root is true if the value is the child itself.
	root bool
}

// rootOf returns the location of an observed child as a whole.
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

// unsets reports whether the host takes a field that is sent with this value for one that is not set.
// Of a child that is not described, that may be any field with an empty value.
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

// isHostsForm reports whether observed is what the host has made of a value that was last applied
// and is still desired. The host and its admission webhooks fill in, rewrite and extend what they
// are sent. The result is false in two cases, in which the desired value is written again: another
// client owns the value, because it has changed it; or no client owns it, because another client has
// changed it and given up its ownership since.
//
// Managed fields do not show who has removed an item from a list whose items have owners of their
// own. If the list may be one of these, all items must be there.
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

// covers reports whether observed contains all that is wanted.
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

// fieldSets are the fields at a location and below it that several owners own, each set in the form
// fieldsV1 of managedFields.
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
