// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/nearest"
)

// UnknownField is a field of a value that the type of the value does not have.
type UnknownField struct {
	// Path leads to the field, such as "spec.template.spec.containers[0].imagee".
	Path string
	// Meant is the path of the field that was probably meant; empty if no known field has a similar name.
	Meant string
}

// UnknownFields returns the fields of a JSON value that its type does not have, and that the host therefore
// drops. It does not return fields below an unknown field. If a field is unknown in several items of a list, it
// returns only the first one. It returns at most maxUnknown fields.
func (t *Type) UnknownFields(value []byte) []UnknownField {
	if t == nil || t.hasAllFields(value) {
		return nil
	}
	return t.searchUnknown(value)
}

// maxUnknown is the maximum number of unknown fields of one value. They stay in memory as long as the value.
const maxUnknown = 20

func (t *Type) searchUnknown(value []byte) (unknown []UnknownField) {
	found := map[string]bool{}
	// If the value turns out not to be valid JSON, what was found before that is still right.
	_ = object.Walk(value, t, func(of *Type, name []byte, path func() string) (*Type, bool) {
		if of.lacks(name) {
			if len(unknown) >= maxUnknown {
				return nil, false
			}
			at := path()
			if place := WithoutIndexes(at); !found[place] {
				found[place] = true
				unknown = append(unknown, UnknownField{Path: at, Meant: of.meant(at, string(name))})
			}
			return nil, false
		}
		below := of.values
		if known, ok := of.fields[string(name)]; ok {
			below = known.of
		}
		return below, below.isStructured()
	}, func(of *Type) (*Type, bool) { return of.items, of.items.isStructured() })
	return unknown
}

// WithoutIndexes returns the path of a field with "[]" in place of each index of an item, such as
// "spec.containers[].image".
func WithoutIndexes(path string) string {
	var kept strings.Builder
	for {
		before, after, found := strings.Cut(path, "[")
		kept.WriteString(before)
		if !found {
			return kept.String()
		}
		kept.WriteString("[]")
		_, path, _ = strings.Cut(after, "]")
	}
}

// Lacks reports whether an object has no field of that name and may not have it.
func (t *Type) Lacks(name string) bool { return t != nil && t.lacks([]byte(name)) }

// Nearest returns the field that was probably meant by an unknown name; empty if no known field has a similar name.
func (t *Type) Nearest(name string) string {
	return nearest.To(name, slices.Collect(maps.Keys(t.fields)))
}

// lacks is Lacks of a type that is not nil.
func (t *Type) lacks(name []byte) bool {
	if t.fields == nil || t.open {
		return false
	}
	if _, known := t.fields[string(name)]; known {
		return false
	}
	return !t.resource || !slices.Contains(resourceFields[:], string(name))
}

// resourceFields are the fields that every resource has, whether its schema has them or not.
var resourceFields = [...]string{"apiVersion", "kind", "metadata"}

// isStructured reports whether anything is known about the fields or items of a value.
func (t *Type) isStructured() bool {
	return t != nil && (t.fields != nil || t.values != nil || t.items != nil)
}

// Meant returns the path of the field that was probably meant by an unknown one; empty if there is none. The
// path is in the form of the host: items of lists are in brackets, by their index or their keys.
func (t *Type) Meant(path string) string {
	at, remaining := t, path
	for at != nil {
		end := strings.IndexAny(remaining, ".[")
		switch {
		case end < 0:
			return at.meant(path, remaining)
		case end > 0:
			at = at.Field(remaining[:end])
		}
		if remaining[end] == '[' {
			end += lengthOfBrackets(remaining[end:]) - 1
			at = at.Items()
		}
		remaining = strings.TrimPrefix(remaining[end+1:], ".")
	}
	return ""
}

// lengthOfBrackets returns the length of the bracketed part at the beginning of a path. It may contain more
// brackets in quotes.
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

// meant returns the path of the field that was probably meant by the unknown one at the path; empty if there is none.
func (t *Type) meant(path, name string) string {
	if _, known := t.fields[name]; known {
		return ""
	}
	known := t.Nearest(name)
	if known == "" {
		return ""
	}
	return strings.TrimSuffix(path, name) + known
}

// hasAllFields reports whether the type has all fields of a JSON value. It may return false for JSON that is
// hard to read, even if the type has all fields. It allocates nothing, because nearly all answers of hooks have
// only known fields.
func (t *Type) hasAllFields(value []byte) bool {
	c := cursor{raw: value}
	return c.knows(t)
}

// cursor is a position in JSON.
type cursor struct {
	raw []byte
	at  int
}

// knows reads the next value and reports whether its type has all of its fields.
func (c *cursor) knows(of *Type) bool {
	switch next := c.peek(); {
	case next == '{' && of.isStructured():
		return c.each('}', func() bool { return c.knowsMember(of) })
	case next == '[' && of.isStructured() && of.items.isStructured():
		return c.each(']', func() bool { return c.knows(of.items) })
	default:
		return c.skip()
	}
}

func (c *cursor) knowsMember(of *Type) bool {
	name, ok := c.text()
	if !ok || bytes.IndexByte(name, '\\') >= 0 || c.peek() != ':' {
		return false
	}
	c.at++
	known, ok := of.fields[string(name)]
	switch {
	case ok:
		return c.knows(known.of)
	case of.lacks(name):
		return false
	}
	return c.knows(of.values)
}

// each reads an object or a list up to its end, and calls read for each member or item. It returns false as
// soon as read does.
func (c *cursor) each(end byte, read func() bool) bool {
	c.at++
	if c.peek() == end {
		c.at++
		return true
	}
	for read() {
		switch c.peek() {
		case ',':
			c.at++
		case end:
			c.at++
			return true
		default:
			return false
		}
	}
	return false
}

// peek returns the next byte that is not white space; 0 at the end.
func (c *cursor) peek() byte {
	for ; c.at < len(c.raw); c.at++ {
		switch next := c.raw[c.at]; next {
		case ' ', '\t', '\r', '\n':
		default:
			return next
		}
	}
	return 0
}

// text reads a string and returns the text between its quotes.
func (c *cursor) text() (text []byte, ok bool) {
	if c.peek() != '"' {
		return nil, false
	}
	start := c.at + 1
	for end := start; ; end++ {
		quote := bytes.IndexByte(c.raw[end:], '"')
		if quote < 0 {
			return nil, false
		}
		end += quote
		if !isEscaped(c.raw[start:end]) {
			c.at = end + 1
			return c.raw[start:end], true
		}
	}
}

// isEscaped reports whether the character after a text is escaped: the text ends with an odd number of backslashes.
func isEscaped(text []byte) (escaped bool) {
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		escaped = !escaped
	}
	return escaped
}

// skip reads the next value, of any type.
func (c *cursor) skip() bool {
	for depth := 0; ; {
		switch c.peek() {
		case 0:
			return false
		case '"':
			if _, ok := c.text(); !ok {
				return false
			}
		case '{', '[':
			depth++
			c.at++
			continue
		case '}', ']':
			depth--
			c.at++
		case ',', ':':
			c.at++
			continue
		default:
			c.skipLiteral()
		}
		if depth <= 0 {
			return depth == 0
		}
	}
}

// skipLiteral reads a number, a boolean or a null.
func (c *cursor) skipLiteral() {
	for ; c.at < len(c.raw); c.at++ {
		switch c.raw[c.at] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return
		}
	}
}
