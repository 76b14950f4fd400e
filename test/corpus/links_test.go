// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

var (
	// markdownLink is a link to a file of the repository, or to a heading: its text may be broken into lines.
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeBlock    = regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`")
	heading      = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchorsOf returns the anchors of the headings of a page, as GitHub makes them.
func anchorsOf(page string) map[string]bool {
	anchors := map[string]bool{}
	inCode := regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
	for _, match := range heading.FindAllStringSubmatch(inCode, -1) {
		text := strings.ToLower(notInAnchor.ReplaceAllString(match[1], ""))
		anchors[strings.ReplaceAll(text, " ", "-")] = true
	}
	return anchors
}

// Every link in a Markdown file of the repository leads to a file and a heading that exist.
func TestLinksLeadSomewhere(t *testing.T) {
	root := hostcluster.RepositoryRoot()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "*.md")
	list.Dir = root
	listed, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	links := 0
	for _, name := range strings.Fields(string(listed)) {
		for _, match := range markdownLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(filepath.Join(root, name)), "``"), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			path := filepath.Join(root, name)
			if target != "" {
				path = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, match[1])
				continue
			}
			if anchor != "" && strings.HasSuffix(path, ".md") && !anchorsOf(read(path))[anchor] {
				t.Errorf("%s links to %s, but that page has no such heading", name, match[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}
