// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"strconv"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
)

// appliedFields returns the fields that manager owns by server-side apply, as managedFields
// have them; nil if it owns none. Shared tells whether updates of FieldManager own some of
// them too. What is not as Kubernetes writes it counts as none.
func appliedFields(manager string, managedFields []byte) (applied []byte, shared bool) {
	name := strconv.Quote(manager)
	if !bytes.Contains(managedFields, []byte(name)) || !bytes.Contains(managedFields, []byte(`"Apply"`)) {
		return nil, false // of most objects there is no more to look at
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
