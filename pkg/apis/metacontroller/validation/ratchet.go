// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var listIndex = regexp.MustCompile(`\[\d+\]`)

// introduced returns the errors of an updated object that the object did not have before the
// update. Two errors are the same if field, value and message are the same. An item of a list may
// have moved, so the index in the field may differ if there was no such error at the same index.
func introduced(updated, before field.ErrorList) field.ErrorList {
	remaining := without(updated, before, exactly)
	gone := without(before, updated, exactly)
	return without(remaining, gone, anywhereInLists)
}

// without returns errs without those in known. Each error in known removes one error.
func without(errs, known field.ErrorList, identity func(*field.Error) string) field.ErrorList {
	counts := make(map[string]int, len(known))
	for _, err := range known {
		counts[identity(err)]++
	}
	var rest field.ErrorList
	for _, err := range errs {
		if id := identity(err); counts[id] > 0 {
			counts[id]--
			continue
		}
		rest = append(rest, err)
	}
	return rest
}

func exactly(err *field.Error) string {
	return err.Error()
}

func anywhereInLists(err *field.Error) string {
	return listIndex.ReplaceAllString(err.Field, "[*]") + ": " + err.ErrorBody()
}
