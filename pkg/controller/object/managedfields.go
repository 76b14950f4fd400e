// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
)

// FieldManager owns the fields of what is written to the host other than by server-side apply.
// Metacontroller writes under the same name.
const FieldManager = "metacontroller"

// fieldsOfOthers returns the value of Object.Others, out of managedFields. It is empty if these are
// not as Kubernetes writes them.
func fieldsOfOthers(managedFields []byte) string {
	ours := false
	others := []byte{'['}
	err := eachEntry(managedFields, func(entry managedFieldsEntry) (err error) {
		if string(entry.manager) == quotedFieldManager && string(entry.operation) == `"Update"` && !entry.ofSubresource {
			ours = true
			return nil
		}
		others, err = appendContentFields(others, entry.fields)
		return err
	})
	if err != nil || !ours {
		return ""
	}
	return string(append(others, ']'))
}

// appliedFields returns the fields that manager owns by server-side apply, in the form of
// managedFields; nil if it owns none, or if managedFields are not as Kubernetes writes them. Shared is
// true if updates of FieldManager own some of them too.
func appliedFields(manager string, managedFields []byte) (applied []byte, shared bool) {
	name := strconv.Quote(manager)
	if !bytes.Contains(managedFields, []byte(name)) || !bytes.Contains(managedFields, []byte(`"Apply"`)) {
		return nil, false // as for most objects
	}
	var updated [][]byte
	err := eachEntry(managedFields, func(entry managedFieldsEntry) error {
		switch {
		case entry.ofSubresource || entry.fields == nil:
		case string(entry.manager) == name && string(entry.operation) == `"Apply"`:
			applied = entry.fields
		case string(entry.manager) == quotedFieldManager && string(entry.operation) == `"Update"`:
			updated = append(updated, entry.fields)
		}
		return nil
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
}

// eachEntry calls visit with each entry of managedFields.
func eachEntry(managedFields []byte, visit func(managedFieldsEntry) error) error {
	s := newScanner(managedFields)
	return s.elements(func(int) error {
		var entry managedFieldsEntry
		err := s.members("", func(m member) error {
			value, err := s.value()
			switch string(m.name) {
			case "manager":
				entry.manager = value
			case "operation":
				entry.operation = value
			case "subresource":
				entry.ofSubresource = string(value) != `""`
			case "fieldsV1":
				entry.fields = value
			}
			return err
		})
		if err != nil {
			return err
		}
		return visit(entry)
	})
}

// appendContentFields appends to a JSON list the fields of an entry that are neither metadata nor
// status, if there are any.
func appendContentFields(list, fields []byte) ([]byte, error) {
	if fields == nil {
		return list, nil
	}
	content := []byte{'{'}
	err := Members(fields, func(name string, value []byte) (err error) {
		if name != "f:metadata" && name != "f:status" {
			content, err = appendMember(content, name, value)
		}
		return err
	})
	if err != nil || len(content) == 1 {
		return list, err
	}
	if len(list) > 1 {
		list = append(list, ',')
	}
	return append(append(list, content...), '}'), nil
}
