// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

// Style colours text for terminals. The zero value leaves it as it is.
type Style struct{ Colored bool }

func (s Style) with(code, text string) string {
	if !s.Colored || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
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
