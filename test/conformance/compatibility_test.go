// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// lastQuirk is the highest number of a quirk of Metacontroller. What is kept has a conformance
// test, what is fixed a regression test.
const lastQuirk = 50

// quirkTests returns the names of the tests in the tree that are about a quirk, by its number.
func quirkTests(t *testing.T) map[string][]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test(Q[0-9]+b?)[A-Z]\w*)\(`)
	found := map[string][]string{}
	for _, tree := range []string{"pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(hostcluster.RepositoryRoot(), tree), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range declared.FindAllSubmatch(text, -1) {
				found[string(match[2])] = append(found[string(match[2])], string(match[1]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// quirkRows returns the tests that each row of docs/compatibility.md names, by the number of the
// quirk. It fails the test about rows that do not say what is done.
func quirkRows(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`(\\w+)`")
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| Q") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 5 || cells[2] != "keep" && cells[2] != "fix" {
			t.Errorf("this row has not all columns, or its third is neither keep nor fix: %s", line)
			continue
		}
		quirk := strings.TrimSpace(cells[0])
		if _, twice := rows[quirk]; twice {
			t.Errorf("%s has two rows", quirk)
		}
		rows[quirk] = nil
		for _, match := range name.FindAllStringSubmatch(cells[4], -1) {
			rows[quirk] = append(rows[quirk], match[1])
		}
	}
	return rows
}

func TestEveryQuirkHasATestOfItsName(t *testing.T) {
	found, rows := quirkTests(t), quirkRows(t)
	quirks := []string{"Q2b"}
	for i := range lastQuirk {
		quirks = append(quirks, fmt.Sprintf("Q%d", i+1))
	}
	for _, quirk := range quirks {
		if len(found[quirk]) == 0 {
			t.Errorf("no test is called Test%s...", quirk)
		}
		if _, ok := rows[quirk]; !ok {
			t.Errorf("docs/compatibility.md has no row %s", quirk)
		}
	}
}

func TestTheTableOfQuirksNamesTheirTests(t *testing.T) {
	found, rows := quirkTests(t), quirkRows(t)
	for quirk, tests := range found {
		for _, name := range tests {
			if !slices.Contains(rows[quirk], name) {
				t.Errorf("row %s of docs/compatibility.md does not name %s", quirk, name)
			}
		}
	}
	for quirk, tests := range rows {
		if len(tests) == 0 {
			t.Errorf("row %s of docs/compatibility.md names no test", quirk)
		}
		for _, name := range tests {
			if !slices.Contains(found[quirk], name) {
				t.Errorf("row %s of docs/compatibility.md names %s, which is no test of this quirk", quirk, name)
			}
		}
	}
}
