// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package text shortens texts that people read, and joins names in them.
package text

import (
	"fmt"
	"strings"
)

// ellipsis replaces omitted text.
const ellipsis = "…"

// Shorten returns a text, which it truncates if the text is longer than most bytes.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:max(most-len(ellipsis), 0)], "") + ellipsis
}

// OneLine returns a text without line breaks.
func OneLine(text string) string {
	if !strings.ContainsAny(text, "\n\r") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// Join returns all names, such as "a, b and c".
func Join(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// JoinFirst returns the first names, at most the given number, and the number of the others, such as
// "a, b and 3 more".
func JoinFirst(most int, names []string) string {
	return JoinFirstFunc(most, names, func(name string) string { return name })
}

// JoinFirstFunc is JoinFirst for items that have names. It asks only for the names that it returns.
func JoinFirstFunc[T any](most int, items []T, name func(T) string) string {
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
