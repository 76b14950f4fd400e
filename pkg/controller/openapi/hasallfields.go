// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package openapi

import "bytes"

// hasAllFields reports whether the type has all fields of a JSON value. It may be wrong only with false:
// that is also returned of JSON that is hard to read. It allocates nothing, since nearly every answer of
// every hook has only known fields.
func (t *Type) hasAllFields(value []byte) bool {
	c := cursor{raw: value}
	return c.knows(t)
}

// cursor is a position in JSON.
type cursor struct {
	raw []byte
	at  int
}

// knows reads the next value and reports whether its type has all its fields.
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

// each reads an object or a list up to its end, and calls read for each member or item. It ends with false
// when read returns false.
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

// peek returns the next byte that is no space; 0 at the end.
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

// text reads a text and returns what is between its quotes.
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

// isEscaped reports whether what follows a text belongs to it: it ends with an odd number of backslashes.
func isEscaped(text []byte) (escaped bool) {
	for i := len(text) - 1; i >= 0 && text[i] == '\\'; i-- {
		escaped = !escaped
	}
	return escaped
}

// skip reads the next value, whatever it is.
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
