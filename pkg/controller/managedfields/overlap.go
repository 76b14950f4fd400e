// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package managedfields

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

var ownerReferences = fieldpath.MakePathOrDie("metadata", "ownerReferences")

// Overlap tells whether two sets of fields, in the form fieldsV1, have fields in common.
// The owners of an object are not looked at: they are claimed apart from its content.
// Of sets that cannot be read nothing is known to be in common.
func Overlap(a, b []byte) bool {
	x, err := decode(a)
	if err != nil {
		return false
	}
	y, err := decode(b)
	if err != nil {
		return false
	}
	common := false
	x.Intersection(y).Iterate(func(path fieldpath.Path) {
		common = common || len(path) < len(ownerReferences) || !path[:len(ownerReferences)].Equals(ownerReferences)
	})
	return common
}
