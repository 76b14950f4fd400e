// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
)

// unknownFieldsCache has the fields of what is desired for one parent that the host does not know. So
// what is desired is searched once, and not with each sync. The zero value is empty.
type unknownFieldsCache struct {
	// schemas is the SchemasVersion with which the entries were found.
	schemas uint64
	// found has an entry for everything that was searched, by the hash of what is desired. It is nil if
	// all fields are known.
	found map[uint64]*[]openapi.UnknownField
	// searched are the entries that were found with other schemas since the last prune.
	searched []uint64
	// status is the hash of the status that was searched last.
	status uint64
}

// get returns the entry of what is desired, and whether it is right for schemas of that version.
func (c *unknownFieldsCache) get(desired, schemas uint64) (fields []openapi.UnknownField, current bool) {
	found, known := c.found[desired]
	if found != nil {
		fields = *found
	}
	return fields, known && c.schemas == schemas
}

func (c *unknownFieldsCache) put(desired, schemas uint64, fields []openapi.UnknownField) {
	if c.found == nil {
		c.found = map[uint64]*[]openapi.UnknownField{}
	}
	if c.schemas != schemas && c.schemas != 0 {
		c.searched = append(c.searched, desired)
	}
	c.found[desired] = nil
	if len(fields) > 0 {
		c.found[desired] = &fields
	}
}

// add adds fields that the host called unknown when it was sent what is desired. It may know more than
// the schema says, which may be nil.
func (c *unknownFieldsCache) add(desired uint64, paths []string, schema *openapi.Type) {
	if len(paths) == 0 {
		return
	}
	fields, _ := c.get(desired, c.schemas)
	fields = slices.Clone(fields)
	for _, path := range paths {
		if !slices.ContainsFunc(fields, func(known openapi.UnknownField) bool { return known.Path == path }) {
			fields = append(fields, openapi.UnknownField{Path: path, Meant: schema.Meant(path)})
		}
	}
	c.put(desired, c.schemas, fields)
}

// prune removes what is not among the desired children, except for the status. If the schemas are
// others than before, it also removes what was not searched since. The entries that stay count as
// found with schemas of that version.
func (c *unknownFieldsCache) prune(schemas uint64, desired []*object.Object) {
	searched := c.searched
	c.searched = nil
	if former := c.schemas; former != schemas {
		c.schemas = schemas
		if former == 0 {
			return // nothing was found before
		}
		maps.DeleteFunc(c.found, func(hash uint64, _ *[]openapi.UnknownField) bool { return !slices.Contains(searched, hash) })
	}
	c.found = keepDesired(c.found, c.status, desired)
}

// keepDesired returns the entries for the desired children and for the status of that hash, if there are
// more than there can be. The keys are hashes of what is desired.
func keepDesired[V any](entries map[uint64]V, status uint64, desired []*object.Object) map[uint64]V {
	if len(entries) <= len(desired)+1 {
		return entries
	}
	kept := make(map[uint64]V, len(desired)+1)
	keep := func(hash uint64) {
		if entry, known := entries[hash]; known {
			kept[hash] = entry
		}
	}
	keep(status)
	for _, child := range desired {
		keep(child.Hash)
	}
	return kept
}
