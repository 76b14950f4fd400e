// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
)

// FieldManager is the field manager of all writes except those of server-side apply. Metacontroller uses the
// same name.
const FieldManager = "metacontroller"

// ownersReader reads who owns which fields of an object. It reuses its memory for the next object.
type ownersReader struct {
	scanner      scanner
	entry        managedFieldsEntry
	ours, others []byte
}

// read returns the value of Object.Owners from managedFields. The value is valid until the next call, and empty if
// managedFields are not in the form of Kubernetes.
func (r *ownersReader) read(managedFields []byte) []byte {
	const startOfOurs, startOfOthers = `{"ours":[`, `],"others":[`
	r.ours = append(slices.Grow(r.ours[:0], len(managedFields)), startOfOurs...)
	r.others = append(slices.Grow(r.others[:0], len(managedFields)), startOfOthers...)
	r.entry.content = slices.Grow(r.entry.content[:0], 8) // as many as most objects have
	isOurs := false
	r.scanner.reset(managedFields)
	err := eachEntry(&r.scanner, &r.entry, func() {
		if string(r.entry.manager) == quotedFieldManager && string(r.entry.operation) == `"Update"` &&
			!r.entry.ofSubresource {
			isOurs = true
			r.ours = appendSet(r.ours, len(startOfOurs), r.entry.content)
		} else {
			r.others = appendSet(r.others, len(startOfOthers), r.entry.content)
		}
	})
	if err != nil || !isOurs {
		return nil
	}
	r.ours = append(append(r.ours, r.others...), "]}"...)
	return r.ours
}

// forget drops all references to the managedFields that were read last.
func (r *ownersReader) forget() {
	r.scanner.reset(nil)
	clear(r.entry.content[:cap(r.entry.content)])
	r.entry = managedFieldsEntry{content: r.entry.content[:0]}
}

// appendSet appends to a JSON list, whose elements begin at start, a set of fields that has some
// members.
func appendSet(list []byte, start int, members [][]byte) []byte {
	if len(members) == 0 {
		return list
	}
	if len(list) > start {
		list = append(list, ',')
	}
	for i, member := range members {
		list = append(append(list, "{,"[min(i, 1)]), member...)
	}
	return append(list, '}')
}

// appliedFields returns the fields that manager owns by server-side apply, in the form of managedFields; nil if it owns
// none, or if managedFields are not in the form of Kubernetes. Shared is true if updates of FieldManager also own some
// of them.
func appliedFields(manager string, managedFields []byte) (applied []byte, shared bool) {
	name := strconv.Quote(manager)
	if !bytes.Contains(managedFields, []byte(name)) || !bytes.Contains(managedFields, []byte(`"Apply"`)) {
		return nil, false // as for most objects
	}
	var updated [][]byte
	entry := &managedFieldsEntry{}
	err := eachEntry(newScanner(managedFields), entry, func() {
		switch {
		case entry.ofSubresource || entry.fields == nil:
		case string(entry.manager) == name && string(entry.operation) == `"Apply"`:
			applied = entry.fields
		case string(entry.manager) == quotedFieldManager && string(entry.operation) == `"Update"`:
			updated = append(updated, entry.fields)
		}
	})
	if err != nil || applied == nil {
		return nil, false
	}
	for _, fields := range updated {
		shared = shared || managedfields.Overlap(applied, fields)
	}
	return bytes.Clone(applied), shared
}

const quotedFieldManager = `"` + FieldManager + `"`

// managedFieldsEntry is the raw JSON of the parts of an entry of managedFields that are read here.
type managedFieldsEntry struct {
	manager, operation []byte
	ofSubresource      bool
	fields             []byte
	// content are the members of fields that are neither metadata nor status.
	content [][]byte
}

// eachEntry reads the entries of managedFields one after the other, and calls visit after each.
func eachEntry(s *scanner, entry *managedFieldsEntry, visit func()) error {
	readContent := func(m member) error {
		isContent := string(m.name) != "f:metadata" && string(m.name) != "f:status"
		if err := s.skip(); err != nil || !isContent {
			return err
		}
		entry.content = append(entry.content, s.raw[m.start:s.offset()])
		return nil
	}
	readPart := func(m member) (err error) {
		switch string(m.name) {
		case "manager":
			entry.manager, err = s.value()
		case "operation":
			entry.operation, err = s.value()
		case "subresource":
			var subresource []byte
			subresource, err = s.value()
			entry.ofSubresource = string(subresource) != `""`
		case "fieldsV1":
			before := s.offset()
			if err = s.members("", readContent); err == nil {
				start := before + bytes.IndexByte(s.raw[before:], '{')
				entry.fields = s.raw[start:s.offset()]
			}
		default:
			err = s.skip()
		}
		return err
	}
	return s.elements(func(int) error {
		*entry = managedFieldsEntry{content: entry.content[:0]}
		if err := s.members("", readPart); err != nil {
			return err
		}
		visit()
		return nil
	})
}
