// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// Meant returns the path of the field that was probably meant by one that the host does not know; empty
// if there is none. The path is as the host writes it: items of lists are in brackets, by their index or
// their keys.
func (t *Type) Meant(path string) string {
	at, rest := t, path
	for at != nil {
		end := strings.IndexAny(rest, ".[")
		switch {
		case end < 0:
			return at.meant(path, rest)
		case end > 0:
			at = at.Field(rest[:end])
		}
		if rest[end] == '[' {
			end += lengthOfBrackets(rest[end:]) - 1
			at = at.Items()
		}
		rest = strings.TrimPrefix(rest[end+1:], ".")
	}
	return ""
}

// lengthOfBrackets returns the length of what is in brackets at the beginning of a path, with them. It may
// have more brackets in quotes.
func lengthOfBrackets(path string) int {
	quoted := false
	for i := range len(path) {
		switch {
		case path[i] == '"' && path[i-1] != '\\':
			quoted = !quoted
		case path[i] == ']' && !quoted:
			return i + 1
		}
	}
	return len(path)
}

// meant returns the path of the field that was probably meant by the unknown one at the path; empty if
// there is none.
func (t *Type) meant(path, name string) string {
	if _, known := t.fields[name]; known {
		return ""
	}
	known := nearest.To(name, slices.Collect(maps.Keys(t.fields)))
	if known == "" {
		return ""
	}
	return strings.TrimSuffix(path, name) + known
}
