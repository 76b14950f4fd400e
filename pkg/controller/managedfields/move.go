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
	// Update is the field manager of plain writes, and Apply the field manager of server-side apply.
	Update, Apply string
}

// ToApply moves fields from plain writes to server-side apply: the fields that were last applied, and the
// fields that both own. Server-side apply removes a field that is no longer applied only if it has no other
// owner. Plain writes keep the fields that the host and its admission have set so that these are not removed.
// The result shares entries with the argument.
func (m Managers) ToApply(
	entries []metav1.ManagedFieldsEntry, lastApplied map[string]any,
) ([]metav1.ManagedFieldsEntry, error) {
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
		applied := within(all, lastApplied).Union(all.Intersection(before))
		if others := all.Difference(applied); !others.Empty() {
			if entry, err = withFields(entry, others); err != nil {
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

// applied returns the fields that server-side apply owns.
func (m Managers) applied(entries []metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	for _, entry := range entries {
		if owns(entry, m.Apply, metav1.ManagedFieldsOperationApply) {
			return fieldsOf(entry)
		}
	}
	return &fieldpath.Set{}, nil
}

// ToUpdate moves the fields that server-side apply owns to plain writes. The result shares entries with the
// argument.
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

// add adds the fields of each entry to the fields that its owner already has.
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

// sameOwner reports whether two entries have the same owner. Plain writes in another version have another owner;
// server-side apply in another version does not.
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

// within returns the fields of a set that a value has.
func within(set *fieldpath.Set, content any) *fieldpath.Set {
	result := &fieldpath.Set{}
	for _, element := range elements(set) {
		for _, value := range named(element, content) {
			part := &fieldpath.Set{}
			if set.Members.Has(element) {
				part.Members.Insert(element)
			}
			if below, some := set.Children.Get(element); some {
				if kept := within(below, value); !kept.Empty() {
					*part.Children.Descend(element) = *kept
				}
			}
			result = result.Union(part)
		}
	}
	return result
}

// named returns the values in an object or a list that a path element may name. There may be several if list items lack
// a key that the host has defaulted.
func named(element fieldpath.PathElement, content any) []any {
	switch content := content.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return nil
		}
		if value, there := content[*element.FieldName]; there {
			return []any{value}
		}
	case []any:
		if found := items(element, content, exactly); found != nil {
			return found
		}
		return items(element, content, orDefaulted)
	}
	return nil
}

// items returns the items of a list that an element of a set names.
func items(element fieldpath.PathElement, list []any, keys comparison) []any {
	var found []any
	for _, item := range list {
		if identifies(element, item, keys) {
			found = append(found, item)
		}
	}
	return found
}
