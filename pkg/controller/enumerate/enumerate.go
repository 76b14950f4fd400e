// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enumerate joins names for messages.
package enumerate

import (
	"fmt"
	"strings"
)

// All returns all names, such as "a, b and c".
func All(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// First returns the first names, at most the given number, and the number of the others, such as "a, b and 3 more".
func First(most int, names []string) string {
	return FirstFunc(most, names, func(name string) string { return name })
}

// FirstFunc is First for items that have names. It asks only for the names that it returns.
func FirstFunc[T any](most int, items []T, name func(T) string) string {
	named := make([]string, min(len(items), most))
	for i := range named {
		named[i] = name(items[i])
	}
	text := strings.Join(named, ", ")
	if more := len(items) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
