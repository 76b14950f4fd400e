// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// documented is a row of a table in docs/admission.md: messages, and the fields that they are
// about. Each expression matches a whole text.
type documented struct {
	row      string
	messages []*regexp.Regexp
	fields   []*regexp.Regexp
	found    bool
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	section  = regexp.MustCompile(`(?m)^## `)
)

func readDocs(t *testing.T) string {
	t.Helper()
	return readPage(t, "admission.md")
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table returns the rows of the table in a section.
func table(t *testing.T, title string) []*documented {
	t.Helper()
	var rows []*documented
	for _, part := range section.Split(readDocs(t), -1) {
		if !strings.HasPrefix(part, title+"\n") {
			continue
		}
		for line := range strings.Lines(part) {
			cells := strings.Split(line, " | ")
			if len(cells) != 3 || !strings.HasPrefix(line, "| `") {
				continue
			}
			row := &documented{row: cells[0]}
			for _, span := range codeSpan.FindAllStringSubmatch(cells[0], -1) {
				row.messages = append(row.messages, regexp.MustCompile("^"+wildcards(span[1])+"$"))
			}
			for _, span := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
				anywhere := `(^|\.)`
				if strings.HasPrefix(span[1], "spec") || strings.HasPrefix(span[1], "metadata") {
					anywhere = "^"
				}
				row.fields = append(row.fields, regexp.MustCompile(anywhere+wildcards(span[1])+"$"))
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("there is no table below %q", title)
	}
	return rows
}

func wildcards(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), "…", ".*")
}

// markDocumented marks the row that explains a message. It fails the test if there is none.
func markDocumented(t *testing.T, rows []*documented, path, message string) {
	t.Helper()
	matches := func(patterns []*regexp.Regexp, text string) bool {
		for _, pattern := range patterns {
			if pattern.MatchString(text) {
				return true
			}
		}
		return false
	}
	found := false
	for _, row := range rows {
		if matches(row.messages, message) && matches(row.fields, path) {
			row.found, found = true, true
		}
	}
	if !found {
		t.Errorf("docs/admission.md does not tell what this is: %s: %s", path, message)
	}
}

func TestDocsHaveEveryError(t *testing.T) {
	rows, decoder := table(t, "Errors"), decoder(t)
	for _, c := range append(Refused(t), tooLarge(t)) {
		errs, _ := validate(c.read(t, decoder))
		for _, err := range errs {
			markDocumented(t, rows, err.Field, err.Detail)
		}
	}
	for _, row := range rows {
		if !row.found {
			t.Errorf("no object is refused for %s", row.row)
		}
	}
}

func TestDocsHaveEveryWarning(t *testing.T) {
	rows, decoder := table(t, "Warnings"), decoder(t)
	for _, c := range Accepted(t) {
		_, warnings := validate(c.read(t, decoder))
		for _, warning := range warnings {
			path, message, _ := strings.Cut(warning, ": ")
			markDocumented(t, rows, path, message)
		}
	}
	for _, row := range rows {
		if !row.found {
			t.Errorf("no object leads to the warning %s", row.row)
		}
	}
}

// Each message of validation is in the docs, also those that no object of the corpus leads to.
func TestDocsHaveEveryTextOfValidation(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(hostcluster.RepositoryRoot(), "pkg", "apis", "metacontroller", "validation", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	pages := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if page := pageOfTexts(filepath.Base(file), declaration); page != "" {
				pages[page]++
				expectTexts(t, declaration, page)
			}
		}
	}
	for _, page := range []string{"admission.md", "observing.md"} {
		if pages[page] == 0 {
			t.Errorf("no declaration has texts of docs/%s", page)
		}
	}
}

// pageOfTexts returns the page with the messages of a declaration, or nothing if no page needs to have them.
func pageOfTexts(file string, declaration ast.Decl) string {
	var name string
	if function, ok := declaration.(*ast.FuncDecl); ok {
		name = function.Name.Name
	}
	switch {
	case name == "ValidateResyncRequest":
		return "observing.md"
	case file == "review.go": // the messages about SyncReviews explain themselves
		return ""
	case file == "revision.go", name == "validateControllerStatus", name == "validateCount": // what the server writes
		return ""
	default:
		return "admission.md"
	}
}

// expectTexts checks that a page has each message of a declaration.
func expectTexts(t *testing.T, declaration ast.Decl, page string) {
	t.Helper()
	docs, verb := readPage(t, page), regexp.MustCompile(`%[a-z]`)
	ast.Inspect(declaration, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING || strings.Count(literal.Value, " ") < 2 {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range verb.Split(text, -1) {
			if !strings.Contains(docs, strings.Trim(piece, `": `)) && !strings.Contains(text, "encode the object") {
				t.Errorf("docs/%s does not have %q", page, piece)
			}
		}
		return true
	})
}
