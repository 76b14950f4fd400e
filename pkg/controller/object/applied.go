// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"strconv"
)

// ParseOwned is Parse that also keeps what manager owns by server-side apply.
func ParseOwned(raw []byte, manager string) (*Object, error) { return parse(raw, manager) }

// appliedBy returns the fields that manager owns by server-side apply, as managedFields
// have them; nil if it owns none. What is not as Kubernetes writes it counts as none.
func appliedBy(manager string, managedFields []byte) []byte {
	name := strconv.Quote(manager)
	if !bytes.Contains(managedFields, []byte(name)) || !bytes.Contains(managedFields, []byte(`"Apply"`)) {
		return nil // of most objects there is no more to look at
	}
	var fields []byte
	err := Elements(managedFields, func(_ int, raw []byte) error {
		entry, err := readManagedFields(raw)
		if entry.manager == name && entry.operation == `"Apply"` && !entry.ofSubresource {
			fields = entry.fields
		}
		return err
	})
	if err != nil {
		return nil
	}
	return bytes.Clone(fields)
}
