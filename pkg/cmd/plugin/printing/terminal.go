// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Escape returns a text without control characters. With them, a text that others have written into an object or an
// answer could take over the terminal: it could hide text, replace it, or fill the clipboard. As in the tables of
// kubectl, escape is "^[" and carriage return "\r"; the others follow the same forms. Line breaks and tabs remain.
// Characters that change the direction of writing are escaped as well.
func Escape(text string) string {
	if strings.IndexFunc(text, isUnsafe) < 0 {
		return text
	}
	var escaped strings.Builder
	for _, char := range text {
		switch {
		case !isUnsafe(char):
			escaped.WriteRune(char)
		case char == '\r':
			escaped.WriteString(`\r`)
		case char < ' ':
			escaped.WriteString("^" + string('@'+char))
		case char == 0x7f:
			escaped.WriteString("^?")
		default:
			_, _ = fmt.Fprintf(&escaped, `\u%04x`, char) // a Builder takes everything
		}
	}
	return escaped.String()
}

func isUnsafe(char rune) bool {
	return unicode.IsControl(char) && char != '\n' && char != '\t' || unicode.Is(unicode.Bidi_Control, char)
}

// Terminal is an output for people, which escapes all text that is written to it.
type Terminal struct {
	// Raw is the unescaped output, for programs and for sequences that move the cursor.
	Raw io.Writer
	// Styled is true if the codes of a Style that is Colored are not escaped.
	Styled bool
}

// Write implements io.Writer.
func (t *Terminal) Write(text []byte) (int, error) {
	if _, err := io.WriteString(t.Raw, t.Escape(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Escape returns a text as it is written.
func (t *Terminal) Escape(text string) string {
	if !t.Styled {
		return Escape(text)
	}
	var escaped strings.Builder
	for text != "" {
		before, after, found := strings.Cut(text, codeBegin)
		escaped.WriteString(Escape(before))
		if !found {
			break
		}
		code, rest, ended := strings.Cut(after, codeEnd)
		if ended && isCode(code) {
			escaped.WriteString(codeBegin + code + codeEnd)
			text = rest
			continue
		}
		escaped.WriteString(Escape(codeBegin))
		text = after
	}
	return escaped.String()
}

// Style colors text for terminals. The zero value does not change it.
type Style struct{ Colored bool }

// The escape sequences of terminals begin and end with these texts.
const codeBegin, codeEnd = "\x1b[", "m"

// with returns a text with a code, which is one that isCode knows.
func (s Style) with(code, text string) string {
	if !s.Colored || text == "" {
		return text
	}
	return codeBegin + code + codeEnd + Escape(text) + codeBegin + "0" + codeEnd
}

// isCode reports whether a Style uses a code.
func isCode(code string) bool {
	return slices.Contains([]string{"0", "1", "1;31", "2", "31", "32", "33"}, code)
}

// Heading is for headings.
func (s Style) Heading(text string) string { return s.with("1", text) }

// Added and Removed are for lines of a diff.
func (s Style) Added(text string) string { return s.with("32", text) }

// Removed is for lines of a diff.
func (s Style) Removed(text string) string { return s.with("31", text) }

// Bad is for failures.
func (s Style) Bad(text string) string { return s.with("1;31", text) }

// Warning is for possible problems.
func (s Style) Warning(text string) string { return s.with("33", text) }

// Good is for good states.
func (s Style) Good(text string) string { return s.with("32", text) }

// Faint is for explanations.
func (s Style) Faint(text string) string { return s.with("2", text) }
