// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

// CASources returns the names of those fields of a CA bundle that are set. A bundle must have
// exactly one.
func CASources[Ref any](inline *string, secretRef, configMapRef *Ref) []string {
	var set []string
	if inline != nil {
		set = append(set, "inline")
	}
	if secretRef != nil {
		set = append(set, "secretRef")
	}
	if configMapRef != nil {
		set = append(set, "configMapRef")
	}
	return set
}
