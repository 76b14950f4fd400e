// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// lastQuirk is the highest number of a quirk of Metacontroller. What is kept has a conformance
// test, what is fixed a regression test.
const lastQuirk = 51

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

// quirkRows returns the numbers of the quirks that have a row in docs/compatibility.md.
func quirkRows(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| Q") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 {
			t.Errorf("this row does not have three columns: %s", line)
			continue
		}
		quirk := strings.TrimSpace(cells[0])
		if rows[quirk] {
			t.Errorf("%s has two rows", quirk)
		}
		rows[quirk] = true
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
		if !rows[quirk] {
			t.Errorf("docs/compatibility.md has no row %s", quirk)
		}
	}
	for quirk := range rows {
		if len(found[quirk]) == 0 {
			t.Errorf("row %s of docs/compatibility.md has no test", quirk)
		}
	}
}
