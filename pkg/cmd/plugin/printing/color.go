// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import "slices"

// Style colours text for terminals. The zero value leaves it as it is.
type Style struct{ Colored bool }

// The codes of terminals begin and end so.
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

// Heading is for what a part of the output is about.
func (s Style) Heading(text string) string { return s.with("1", text) }

// Added and Removed are for lines of a diff.
func (s Style) Added(text string) string { return s.with("32", text) }

// Removed is for lines of a diff.
func (s Style) Removed(text string) string { return s.with("31", text) }

// Bad is for what fails.
func (s Style) Bad(text string) string { return s.with("1;31", text) }

// Warning is for what may be wrong.
func (s Style) Warning(text string) string { return s.with("33", text) }

// Good is for what is as it should be.
func (s Style) Good(text string) string { return s.with("32", text) }

// Faint is for explanations.
func (s Style) Faint(text string) string { return s.with("2", text) }
