// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Change is what an apply changes about the fields that its manager owns.
type Change struct {
	// Differs is true if the manager owns other fields afterwards.
	Differs bool
	// dropped are the fields that it owned and that it no longer applies. A field with fields
	// below it is not among them: it stays for those of others, and says nothing.
	dropped *fieldpath.Set
}

// ChangeOf compares the fields that a manager owns before and after an apply, in the form fieldsV1.
// Nil stands for none.
func ChangeOf(before, after []byte) (Change, error) {
	had, err := decode(before)
	if err != nil {
		return Change{}, err
	}
	has, err := decode(after)
	if err != nil {
		return Change{}, err
	}
	return Change{Differs: !had.Equals(has), dropped: had.Leaves().Difference(has)}, nil
}

// Drops reports whether the manager no longer applies a field that it owned.
func (c Change) Drops() bool { return !c.dropped.Empty() }

// KeptByOthers reports whether another owner keeps a field in the object that the manager no longer
// applies. The entries are those of the object. A field without another owner is removed by the
// apply, or the host fills it in again.
func (c Change) KeptByOthers(manager string, entries []metav1.ManagedFieldsEntry) (bool, error) {
	for _, entry := range entries {
		if owns(entry, manager, metav1.ManagedFieldsOperationApply) {
			continue
		}
		others, err := fieldsOf(entry)
		if err != nil {
			return false, err
		}
		if !others.Leaves().Intersection(c.dropped).Empty() {
			return true, nil
		}
	}
	return false, nil
}
