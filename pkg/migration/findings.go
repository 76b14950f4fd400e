// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// severity says what a finding means for the migration.
type severity int

const (
	// blocks: nothing can be moved before it is mended.
	blocks severity = iota
	// warns: it can be moved, but somebody should look.
	warns
	// differs: it will do something else here than with Metacontroller.
	differs
	// requires: these rights whoever changes the spec must have here.
	requires
	// informs: it is good to know.
	informs
)

// finding is what a check found.
type finding struct {
	severity
	about, text string
}

func (f finding) String() string {
	if f.about == "" {
		return f.text
	}
	return f.about + ": " + f.text
}

// findings collects what checks find.
type findings struct{ all []finding }

func (f *findings) add(of severity, about, format string, args ...any) {
	found := finding{of, about, fmt.Sprintf(format, args...)}
	if !slices.Contains(f.all, found) {
		f.all = append(f.all, found)
	}
}

// with returns the findings of a severity.
func (f *findings) with(of severity) (some []finding) {
	for _, finding := range f.all {
		if finding.severity == of {
			some = append(some, finding)
		}
	}
	return some
}

// maxAlike is how many objects are named that the same was found about.
const maxAlike = 5

// lines returns the findings of a severity as text. What was found about several objects is one line.
func (f *findings) lines(of severity) (lines []string) {
	about := map[string][]string{}
	var texts []string
	some := f.with(of)
	slices.SortStableFunc(some, func(a, b finding) int { return cmp.Compare(a.about, b.about) })
	for _, finding := range some {
		if about[finding.text] == nil {
			texts = append(texts, finding.text)
		}
		about[finding.text] = append(about[finding.text], finding.about)
	}
	for _, text := range texts {
		objects := about[text]
		if len(objects) == 1 {
			lines = append(lines, finding{of, objects[0], text}.String())
			continue
		}
		named := strings.Join(objects[:min(len(objects), maxAlike)], ", ")
		if more := len(objects) - maxAlike; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, named+": "+text)
	}
	return lines
}

// counted returns how many there are of something.
func counted(count int, of string) string {
	if count == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", count, of)
}

// sayFindings prints the findings.
func (m *Migration) sayFindings(found *findings) {
	for _, part := range []struct {
		severity
		title string
	}{
		{informs, "Found"}, {differs, "Different from Metacontroller"}, {requires, "Rights that whoever changes spec must have here"}, {warns, "To look at"}, {blocks, "Stands in the way"},
	} {
		lines := found.lines(part.severity)
		if len(lines) == 0 {
			continue
		}
		m.say("%s:", part.title)
		for _, line := range lines {
			m.say("  %s", strings.ReplaceAll(line, "\n", "\n    "))
		}
	}
}

// BlockedError is the error of a migration that something stands in the way of.
type BlockedError struct{ Count int }

func (e *BlockedError) Error() string {
	if e.Count == 1 {
		return "one thing stands in the way: see above"
	}
	return fmt.Sprintf("%d things stand in the way: see above", e.Count)
}

// blocked returns a *BlockedError if something blocks.
func (f *findings) blocked() error {
	if count := len(f.lines(blocks)); count > 0 {
		return &BlockedError{count}
	}
	return nil
}
