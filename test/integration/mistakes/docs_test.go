// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The table of docs/mistakes.md is the table of the tests.
func TestDocsHaveEveryMistake(t *testing.T) {
	if *update {
		t.Log("TestMistakesAreSeen writes the page")
		return
	}
	content, err := os.ReadFile(docs())
	if err != nil {
		t.Fatal(err)
	}
	mistakes := readMistakes(t)
	goldens := map[string]*golden{}
	for _, m := range mistakes {
		goldens[m.name] = readGolden(t, m)
	}
	if want := page(string(content), mistakes, goldens); want != string(content) {
		t.Errorf("%s is not what the files of testdata say; write it with -update", docs())
	}
}

func docs() string { return filepath.Join(hostcluster.RepositoryRoot(), "docs", "mistakes.md") }

const tableHeading = "| mistake | what kubectl shows | what to do |\n|---|---|---|\n"

// page returns the page with a new table. What stands before the table stays.
func page(before string, mistakes []mistake, goldens map[string]*golden) string {
	introduction, _, _ := strings.Cut(before, tableHeading)
	var order []string
	rows := map[string][]string{} // the mistakes that show the same and have the same remedy
	for _, m := range mistakes {
		rest := fmt.Sprintf("%s | %s", clues(goldens[m.name]), cell(m.Remedy))
		if rows[rest] == nil {
			order = append(order, rest)
		}
		rows[rest] = append(rows[rest], cell(m.Mistake))
	}
	var table strings.Builder
	for _, rest := range order {
		fmt.Fprintf(&table, "| %s | %s |\n", strings.Join(rows[rest], ". "), rest)
	}
	return introduction + tableHeading + table.String()
}

func cell(text string) string { return strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", `\|`) }

var (
	applyError = regexp.MustCompile(
		`(?m)^(Error from server|error: |The request is invalid: |The \S+ "\S*" is invalid: )`)
	outdated        = regexp.MustCompile(`(?m)^    Outdated:  [1-9]`)
	applyWarning    = regexp.MustCompile(`(?m)^Warning: `)
	warningReason   = regexp.MustCompile(`(?m)^ *Warning  (\S+)  `)
	conditionReason = regexp.MustCompile(`(?m)^    Reason:  (\S+)\n    Status:  ` +
		`(?:(?:False|Unknown)\n    Type:  \S+|True\n    Type:  Warnings)$`)
)

// clues names what kubectl shows of a mistake in one variant at least. It leaves out what follows from
// the rest: the page says what does.
func clues(g *golden) string {
	var all []string
	add := func(clue string) {
		if !slices.Contains(all, clue) {
			all = append(all, clue)
		}
	}
	for _, variant := range variants {
		text := g.texts[variant]
		if applyError.MatchString(text) {
			add("an error")
		}
		if applyWarning.MatchString(text) {
			add("a warning")
		}
		if outdated.MatchString(text) {
			add("`OUTDATED`")
		}
		for _, found := range warningReason.FindAllStringSubmatch(text, -1) {
			add("`" + found[1] + "`")
		}
		for _, found := range conditionReason.FindAllStringSubmatch(text, -1) {
			switch found[1] {
			case "NotRunning", "NotCalledYet", "ParentsFailing", "AllParentsFailing":
			default:
				add("`" + found[1] + "`")
			}
		}
	}
	return strings.Join(all, ", ")
}

// writePage writes docs/mistakes.md.
func writePage(mistakes []mistake, goldens map[string]*golden) error {
	content, err := os.ReadFile(docs())
	if err != nil {
		return err
	}
	return os.WriteFile(docs(), []byte(page(string(content), mistakes, goldens)), 0o600)
}
