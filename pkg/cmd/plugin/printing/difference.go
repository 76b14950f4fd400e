// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package printing

import (
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// change prints a field before and after as lines of a diff. Two long texts, such as a file in a ConfigMap, are
// compared line by line.
func (p *printer) change(change *v1alpha1.ReviewedChange) {
	from, to := lines(change.Path, change.From), lines(change.Path, change.To)
	if len(from) > 1 && len(to) > 1 {
		difference(from, to, p.diffLine)
		return
	}
	for _, line := range from {
		p.diffLine('-', line)
	}
	for _, line := range to {
		p.diffLine('+', line)
	}
}

func (p *printer) diffLine(sign byte, text string) {
	line := string(sign) + "   " + text
	switch sign {
	case '+':
		line = p.Added(line)
	case '-':
		line = p.Removed(line)
	}
	p.line(line)
}

// lines returns a value as lines of YAML behind the path of its field. All of an object has no path.
func lines(path string, value *v1alpha1.JSONValue) []string {
	if value == nil {
		return nil
	}
	text, err := yaml.JSONToYAML(value.Raw)
	if err != nil {
		text = value.Raw
	}
	of := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if path == "" {
		return of
	}
	if len(of) == 1 && !strings.HasPrefix(of[0], "- ") && !isMember(value.Raw) {
		return []string{path + ": " + of[0]}
	}
	if strings.HasPrefix(of[0], "|") || strings.HasPrefix(of[0], ">") {
		return append([]string{path + ": " + of[0]}, of[1:]...)
	}
	nested := []string{path + ":"}
	for _, line := range of {
		nested = append(nested, "  "+line)
	}
	return nested
}

// isMember reports whether a value is an object that is not empty.
func isMember(raw []byte) bool {
	text := strings.TrimSpace(string(raw))
	return strings.HasPrefix(text, "{") && text != "{}"
}

// contextLines is the number of equal lines to print before and after lines that differ.
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

// difference calls show with the lines that differ and some equal lines around them. The sign of a line is '+', '-' or
// ' '. A line of three dots stands for omitted lines.
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
