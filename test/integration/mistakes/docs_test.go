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

// docs/mistakes.md lists the mistakes of the tests.
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

// listBegins stands before the first heading of the list.
const listBegins = "\n<!-- from testdata -->\n"

// page returns the page with a new list. What stands before the list stays.
func page(before string, mistakes []mistake, goldens map[string]*golden) string {
	introduction, _, _ := strings.Cut(before, listBegins)
	var shown grouped[grouped[string]] // mistakes by what kubectl shows of them, and by remedy
	for _, m := range mistakes {
		remedies := shown.of(clues(goldens[m.name]))
		*remedies.of(m.Remedy) += strings.TrimSuffix(m.Mistake, ".") + ". "
	}
	var list strings.Builder
	for _, clue := range shown.order {
		fmt.Fprintf(&list, "\n## %s\n\n", clue)
		remedies := shown.of(clue)
		for _, remedy := range remedies.order {
			fmt.Fprintf(&list, "* %s*%s.*\n", *remedies.of(remedy), strings.TrimSuffix(remedy, "."))
		}
	}
	return introduction + listBegins + list.String()
}

// grouped holds a value for each name, and the names in the order in which they came.
type grouped[T any] struct {
	order  []string
	values map[string]*T
}

func (g *grouped[T]) of(name string) *T {
	if g.values == nil {
		g.values = map[string]*T{}
	}
	if g.values[name] == nil {
		g.order = append(g.order, name)
		g.values[name] = new(T)
	}
	return g.values[name]
}

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
