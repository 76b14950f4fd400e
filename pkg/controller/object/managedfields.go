// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

// FieldManager owns the fields of what is written to the host other than by server-side
// apply. Objects that Metacontroller wrote carry the same name.
const FieldManager = "metacontroller"

// fieldsOfOthers returns what Object.Others is, out of managedFields. What is not as
// Kubernetes writes it counts as nothing known.
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

const quotedFieldManager = `"` + FieldManager + `"`

// managedFieldsEntry is the raw JSON of what counts of an entry of managedFields.
type managedFieldsEntry struct {
	manager, operation []byte
	ofSubresource      bool
	fields             []byte
}

// eachEntry visits the entries of managedFields.
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

// appendContentFields appends to a list the fields of an entry that are neither metadata
// nor status, if there are any.
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
