// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// contextLines is how many equal lines are shown around those that differ.
const contextLines = 3

// Difference returns the lines in which two texts differ, and some equal lines around them; empty if they are equal.
func Difference(from, to string) string {
	var text strings.Builder
	lines := func(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
	difference(lines(from), lines(to), func(sign byte, line string) {
		text.WriteString(strings.TrimRight(string(sign)+" "+line, " ") + "\n")
	})
	return text.String()
}

// Diff returns the lines of a diff in colors.
func (s Style) Diff(text string) string {
	var colored strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "+"):
			line = s.Added(line)
		case strings.HasPrefix(line, "-"):
			line = s.Removed(line)
		}
		colored.WriteString(line + "\n")
	}
	return colored.String()
}

// difference calls show with the lines that differ and some equal lines around them. The sign of a line is '+', '-'
// or ' '. What is left out is a line of three dots.
func difference(from, to []string, show func(sign byte, line string)) {
	end := 0
	for _, group := range difflib.NewMatcher(from, to).GetGroupedOpCodes(contextLines) {
		if group[0].I1 > end {
			show(' ', "...")
		}
		for _, part := range group {
			if part.Tag == 'e' {
				for _, line := range from[part.I1:part.I2] {
					show(' ', line)
				}
				continue
			}
			for _, line := range from[part.I1:part.I2] {
				show('-', line)
			}
			for _, line := range to[part.J1:part.J2] {
				show('+', line)
			}
		}
		end = group[len(group)-1].I2
	}
	if end > 0 && end < len(from) {
		show(' ', "...")
	}
}
