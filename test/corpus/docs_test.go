// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// codeSpan finds the text between two backquotes.
var codeSpan = regexp.MustCompile("`([^`]+)`")

func readDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", "admission.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each message that the docs explain is one of an object of the corpus.
func TestDocsExplainMessagesThatExist(t *testing.T) {
	decoder := decoder(t)
	var given []string
	for _, c := range append(append(Refused(t), tooLarge(t)), Accepted(t)...) {
		errs, warnings := validate(c.read(t, decoder))
		for _, err := range errs {
			given = append(given, err.Detail)
		}
		for _, warning := range warnings {
			_, message, _ := strings.Cut(warning, ": ")
			given = append(given, message)
		}
	}

	_, table, found := strings.Cut(readDocs(t), "\n| message | more |\n")
	table, _, ends := strings.Cut(table, "\n\n")
	if !found || !ends {
		t.Fatal("docs/admission.md has no table of messages")
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		message := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(row[1]), "…", ".*") + "$")
		if !slices.ContainsFunc(given, message.MatchString) {
			t.Errorf("no object leads to %s", row[1])
		}
	}
}
