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
	// ownersKnown is true if it is known who owns the value: others has the fields of others, and
	// all other fields are ours.
	ownersKnown bool
	others      fieldSets
	// root is true if the value is the child itself.
	root bool
}

// rootOf returns the location of an observed child as a whole.
func rootOf(schema *openapi.Type, observed *object.Object) (location, error) {
	l := location{schema: schema, described: schema != nil, ownersKnown: observed.Others != "", root: true}
	if l.ownersKnown {
		if err := json.Unmarshal([]byte(observed.Others), &l.others); err != nil {
			return location{}, fmt.Errorf("managed fields of %s: %w", observed, err)
		}
	}
	return l, nil
}

// field returns the location of a field of the object here.
func (l location) field(name string) location {
	below := location{schema: l.schema.Field(name), described: l.described, ownersKnown: l.ownersKnown, others: l.others.field(name)}
	if l.root && name == "metadata" {
		below.ownersKnown = false // object.Object.Others leaves out metadata
	}
	return below
}

// item returns the location of an item of the list here.
func (l location) item(observed any) location {
	return location{schema: l.schema.Items(), described: l.described, ownersKnown: l.ownersKnown, others: l.others.item(observed)}
}

// isHostsForm reports whether observed is what the host has made of a value that was last applied
// and is still desired. The host and its admission webhooks fill in, rewrite and extend what they
// are sent. The result is false if someone else has changed the value since: then it is changed
// back.
//
// Managed fields do not show who has removed an item from a list whose items have owners of their
// own. If the list may be one of these, all items must be there.
func (l location) isHostsForm(observed, lastApplied, desired any) bool {
	if !l.ownersKnown || len(l.others) > 0 || observed == nil {
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
