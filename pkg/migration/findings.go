// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"slices"
	"strings"
)

// severity says what a finding means for the migration.
type severity int

const (
	// informs: it is good to know.
	informs severity = iota
	// differs: it will do something else here than with Metacontroller.
	differs
	// warns: it can be moved, but somebody should look.
	warns
	// blocks: nothing can be moved before it is mended.
	blocks
)

// findings collects what checks find.
type findings struct{ lines [blocks + 1][]string }

func (f *findings) add(of severity, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !slices.Contains(f.lines[of], line) {
		f.lines[of] = append(f.lines[of], line)
	}
}

// sayFindings prints the findings.
func (m *Migration) sayFindings(found *findings) {
	for of, title := range [...]string{"Found", "Different from Metacontroller", "To look at", "Stands in the way"} {
		slices.Sort(found.lines[of])
		if len(found.lines[of]) > 0 {
			m.say("%s:\n  %s", title, strings.Join(found.lines[of], "\n  "))
		}
	}
}

// BlockedError is the error of a migration that something stands in the way of.
type BlockedError struct{ Count int }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s in the way: see above", map[bool]string{true: "one thing stands", false: fmt.Sprintf("%d things stand", e.Count)}[e.Count == 1])
}

func (f *findings) blocked() error {
	if count := len(f.lines[blocks]); count > 0 {
		return &BlockedError{count}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
