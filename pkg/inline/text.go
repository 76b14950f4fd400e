// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package inline

import (
	"errors"
	"strings"
)

// part is a part of a string: text, or the source of an expression.
type part struct {
	text         string
	isExpression bool
}

// errUnclosed is the error of a string with the beginning of an expression and not its end.
var errUnclosed = errors.New("has ${ without a matching }; write $${ for a literal ${")

// split returns the parts of a string, none of which is empty text.
func split(text string) (parts []part, err error) {
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			parts = append(parts, part{text: literal.String()})
			literal.Reset()
		}
	}
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			literal.WriteString(text)
			flush()
			return parts, nil
		}
		if at > 0 && text[at-1] == '$' {
			literal.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		literal.WriteString(text[:at])
		flush()
		length := expressionLength(text[at+2:])
		if length < 0 {
			return nil, errUnclosed
		}
		parts = append(parts, part{text: text[at+2 : at+2+length], isExpression: true})
		text = text[at+2+length+1:]
	}
}

// bare returns the source of a field that is one expression, which may have "${" and "}" around it.
func bare(text string) string {
	trimmed := strings.TrimSpace(text)
	if parts, err := split(trimmed); err == nil && len(parts) == 1 && parts[0].isExpression {
		return parts[0].text
	}
	return text
}

// expressionLength returns the length of the expression at the beginning of a text, up to the brace that closes it; -1
// if none does. Braces in the expression, in its strings and in its comments are skipped.
func expressionLength(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			end := literalEnd(text, i)
			if end < 0 {
				return -1
			}
			i = end
		case c == '/' && strings.HasPrefix(text[i:], "//"):
			line := strings.IndexByte(text[i:], '\n')
			if line < 0 {
				return -1
			}
			i += line
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return -1
}

// literalEnd returns the index of the last quote of the string literal whose first quote is at start; -1 if it has no
// end.
func literalEnd(text string, start int) int {
	quote := text[start : start+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[start:], triple) {
		quote = triple
	}
	raw := start > 0 && strings.ContainsRune("rR", rune(text[start-1])) ||
		start > 1 && strings.ContainsRune("bB", rune(text[start-1])) && strings.ContainsRune("rR", rune(text[start-2]))
	for i := start + len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote) - 1
		}
	}
	return -1
}
