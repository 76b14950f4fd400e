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

// location is a place in a child, with what is known of it. The zero value is a place of
// which nothing is.
type location struct {
	// schema is how the host describes the place; described tells that it describes the
	// child at all, if not this place.
	schema    *openapi.Type
	described bool
	// written tells that what is here was last written either by us or by those who
	// own something of it: others.
	written bool
	others  fieldSets
	// root tells that the place is the child itself.
	root bool
}

// rootOf is the place that is all of an observed child.
func rootOf(of *openapi.Type, observed *object.Object) (location, error) {
	p := location{schema: of, described: of != nil, written: observed.Others != "", root: true}
	if p.written {
		if err := json.Unmarshal([]byte(observed.Others), &p.others); err != nil {
			return location{}, fmt.Errorf("managed fields of %s: %w", observed, err)
		}
	}
	return p, nil
}

// field is the place of an object's field.
func (p location) field(name string) location {
	below := location{schema: p.schema.Field(name), described: p.described, written: p.written, others: p.others.field(name)}
	if p.root && name == "metadata" {
		below.written = false // who owns metadata is not kept
	}
	return below
}

// item is the place of a list's item.
func (p location) item(observed any) location {
	return location{schema: p.schema.Items(), described: p.described, written: p.written, others: p.others.item(observed)}
}

// isHostsForm tells whether what is observed is what the host has made of what was
// applied last, and that is desired still: the host fills in, rewrites and extends what
// it is sent, and so do its admission webhooks. If somebody else has changed it since, it
// is not, and is to be changed back.
//
// Managed fields do not tell who has taken an item out of a list whose items are owned
// one by one. Where the list may be such a one, all items must be there.
func (p location) isHostsForm(observed, lastApplied, desired any) bool {
	if !p.written || len(p.others) > 0 || observed == nil {
		return false
	}
	if _, changed := difference(lastApplied, desired); changed {
		return false
	}
	list, isList := observed.([]any)
	ownedAsAWhole := p.described && (p.schema.List() == openapi.Atomic || p.schema.List() == openapi.Unknown)
	return !isList || ownedAsAWhole || p.covers(list, desired)
}

// covers tells whether all that is wanted is in what is observed.
func (p location) covers(observed, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		observed, ok := observed.(map[string]any)
		for name, value := range wanted {
			ok = ok && (p.field(name).covers(observed[name], value) || observed[name] == nil && p.schema.Drops(name, value))
		}
		return ok
	case []any:
		observed, ok := observed.([]any)
		for _, item := range wanted {
			ok = ok && p.item(nil).isIn(observed, item)
		}
		return ok
	default:
		return same(p.schema, observed, wanted)
	}
}

func (p location) isIn(list []any, wanted any) bool {
	for _, candidate := range list {
		if p.covers(candidate, wanted) {
			return true
		}
	}
	return false
}

// fieldSets are sets of fields in the form fieldsV1 of managedFields, of several owners:
// those at a place and below it.
type fieldSets []map[string]any

// field are the sets of an object's field. A set that names nothing below a place
// stands for all of it.
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

// item are the sets of a list's item that are named by some of its fields.
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

// hasKey tells whether an item of a list has the fields of a key.
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
