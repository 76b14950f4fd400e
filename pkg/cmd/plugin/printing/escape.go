// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Escape returns a text without control characters, so that what others have written into an object or an answer cannot
// take over the terminal that it is shown on: they could hide text, replace it, or fill the clipboard. As in the tables
// of kubectl, escape is "^[" and carriage return "\r"; the others follow the same forms. Line breaks and tabs remain.
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

func isUnsafe(char rune) bool { return unicode.IsControl(char) && char != '\n' && char != '\t' }

// Terminal is an output for people, which escapes what is written to it.
type Terminal struct {
	// Raw is the output itself. What is not for people, and what moves the cursor, is written there.
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
