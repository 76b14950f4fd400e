// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// ofOthers are the texts in docs/troubleshooting.md that the cluster, kubectl or a library prints.
func ofOthers() []string {
	return []string{
		"Unsupported method ('GET')", "connection refused", "the server could not find the requested resource",
		"the server is currently unable to handle the request", "violates PodSecurity", "Client.Timeout exceeded",
		"connect:", "is invalid", "(combined from similar events)", "client-side throttling", "too many requests",
		"database space exceeded",
	}
}

// What users see is looked up by its text. The text of the page has to be that of the code.
func TestTheTextsOfTroubleshootingAreThoseOfTheCode(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := literals(t)
	seen := 0
	for line := range strings.Lines(string(page)) {
		symptom, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || !isRow {
			continue
		}
		for _, text := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(symptom, -1) {
			if !strings.Contains(text[1], " ") || slices.Contains(ofOthers(), strings.TrimSpace(text[1])) {
				continue // a name or a flag
			}
			for piece := range strings.SplitSeq(text[1], "…") {
				seen++
				if !strings.Contains(code, strings.TrimSpace(piece)) {
					t.Errorf("no message has %q", piece)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d texts were found", seen)
	}
}

// literals returns the source of all packages, without the breaks within messages.
func literals(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join(hostcluster.RepositoryRoot(), "pkg"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		all.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(all.String(), "")
}
