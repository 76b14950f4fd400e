// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Managers are the names under which the process owns fields.
type Managers struct {
	// Update is the field manager of plain writes, Apply that of server-side apply.
	Update, Apply string
}

// ToApply gives what plain writes own of the record, which is what was last applied, or
// own together with server-side apply, over to server-side apply: only what that owns
// alone does it remove when it is no longer applied. What plain writes own beside - what the host and its admission filled in -
// they keep, so that it is not removed. The result shares entries with the argument.
func (m Managers) ToApply(entries []metav1.ManagedFieldsEntry, record map[string]any) ([]metav1.ManagedFieldsEntry, error) {
	before, err := m.applied(entries)
	if err != nil {
		return nil, err
	}
	var kept, moved []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if !owns(entry, m.Update, metav1.ManagedFieldsOperationUpdate) {
			kept = append(kept, entry)
			continue
		}
		all, err := fieldsOf(entry)
		if err != nil {
			return nil, err
		}
		applied := within(all, record).Union(all.Intersection(before))
		if rest := all.Difference(applied); !rest.Empty() {
			if entry, err = withFields(entry, rest); err != nil {
				return nil, err
			}
			kept = append(kept, entry)
		}
		if !applied.Empty() {
			entry.Manager, entry.Operation = m.Apply, metav1.ManagedFieldsOperationApply
			if entry, err = withFields(entry, applied); err != nil {
				return nil, err
			}
			moved = append(moved, entry)
		}
	}
	return add(kept, moved)
}

// applied are the fields that server-side apply owns.
func (m Managers) applied(entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	for _, entry := range entries {
		if owns(entry, m.Apply, metav1.ManagedFieldsOperationApply) {
			return fieldsOf(entry)
		}
	}
	return &fieldpath.Set{}, nil
}

// ToUpdate gives what server-side apply owns over to plain writes. The result shares
// entries with the argument.
func (m Managers) ToUpdate(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	var kept, moved []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if owns(entry, m.Apply, metav1.ManagedFieldsOperationApply) {
			entry.Manager, entry.Operation = m.Update, metav1.ManagedFieldsOperationUpdate
			moved = append(moved, entry)
		} else {
			kept = append(kept, entry)
		}
	}
	return add(kept, moved)
}

func owns(entry metav1.ManagedFieldsEntry, manager string, operation metav1.ManagedFieldsOperationType) bool {
	return entry.Manager == manager && entry.Operation == operation && entry.Subresource == ""
}

// add adds the fields of each entry to those that its owner has already.
func add(entries, added []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	for _, entry := range added {
		i := slices.IndexFunc(entries, func(other metav1.ManagedFieldsEntry) bool { return sameOwner(entry, other) })
		if i < 0 {
			entries = append(entries, entry)
			continue
		}
		before, err := fieldsOf(entries[i])
		if err != nil {
			return nil, err
		}
		more, err := fieldsOf(entry)
		if err != nil {
			return nil, err
		}
		if entries[i], err = withFields(entries[i], before.Union(more)); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// sameOwner tells whether the host takes two entries for one. Plain writes in another
// version are another owner's, what was applied is not.
func sameOwner(a, b metav1.ManagedFieldsEntry) bool {
	return owns(b, a.Manager, a.Operation) &&
		(a.Operation == metav1.ManagedFieldsOperationApply || a.APIVersion == b.APIVersion)
}

func fieldsOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	if entry.FieldsV1 == nil {
		return &fieldpath.Set{}, nil
	}
	return decode(entry.FieldsV1.GetRawBytes())
}

func withFields(entry metav1.ManagedFieldsEntry, fields *fieldpath.Set) (metav1.ManagedFieldsEntry, error) {
	raw, err := fields.ToJSON()
	if err != nil {
		return entry, fmt.Errorf("write managed fields: %w", err)
	}
	entry.FieldsV1 = &metav1.FieldsV1{}
	entry.FieldsV1.SetRawBytes(raw)
	return entry, nil
}
