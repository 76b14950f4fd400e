// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"errors"
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

func (f *findings) blocked() error {
	switch count := len(f.lines[blocks]); count {
	case 0:
		return nil
	case 1:
		return errors.New("one thing stands in the way: see above")
	default:
		return fmt.Errorf("%d things stand in the way: see above", count)
	}
}
