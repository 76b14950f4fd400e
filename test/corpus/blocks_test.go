// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookschema"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// Each block of each page is run by a test, or says why it is not. Commands and manifests are run by
// test/integration/manual unless they say who else does it; the rest is checked here.
func TestEachBlockOfTheDocumentationIsAccountedFor(t *testing.T) {
	pages, err := manual.Pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]int{}
	for _, path := range pages {
		page, err := manual.Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if page.FollowedBy != "" && !mentions(t, page.FollowedBy, filepath.Base(path)) {
			t.Errorf("%s says that %s follows it, which does not name the page", path, page.FollowedBy)
		}
		for _, block := range page.Blocks {
			languages[block.Language]++
			if err := account(t, page, block); err != nil {
				t.Errorf("%s: %v", page.Where(block), err)
			}
		}
	}
	for _, language := range []string{"sh", "yaml", "json", "python", "go", "typescript"} {
		if languages[language] == 0 {
			t.Errorf("no block in %s was found", language)
		}
	}
}

// account returns an error for a block that nobody runs or checks.
func account(t *testing.T, page *manual.Page, block *manual.Block) error {
	t.Helper()
	switch {
	case block.Language == manual.Indented:
		return fmt.Errorf("fence this block, and say its language: %s", block.Text)
	case block.NotRun != "", len(block.Files) > 0, block.PartOf != "":
		return nil
	case block.RunBy != "":
		command := strings.Join(strings.Fields(block.Text)[:2], " ")
		for _, text := range []string{filepath.Base(page.Path), filepath.Base(filepath.Dir(filepath.Dir(page.Path))), command} {
			if mentions(t, block.RunBy, text) {
				return nil
			}
		}
		return fmt.Errorf("%s, which is to run the block, names neither the page nor %q", block.RunBy, command)
	}
	switch block.Language {
	case "text", "sh", "yaml":
		return nil
	case "json":
		return instance(block.JSON, block.Text)
	case "python":
		return compiles(t, block.Text)
	}
	return fmt.Errorf("nobody runs blocks in %q: save it as a file, or say in a comment why it is not run", block.Language)
}

// mentions reports whether a file, or a test of a package, has a text.
func mentions(t *testing.T, path, text string) bool {
	t.Helper()
	path = filepath.Join(hostcluster.RepositoryRoot(), path)
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return false
	} else if info.IsDir() {
		files, _ = filepath.Glob(filepath.Join(path, "*_test.go")) // the pattern is right
	}
	for _, file := range files {
		if content, err := os.ReadFile(file); err != nil {
			t.Error(err)
		} else if strings.Contains(string(content), text) {
			return true
		}
	}
	return false
}

// instance returns what is wrong with a request or an answer.
func instance(name, text string) error {
	document, known := hookschema.Documents()[name]
	if !known {
		return fmt.Errorf("say in a comment of which schema this is an instance: <!-- json: composite-answer-v2 -->")
	}
	return invalid(document, text)
}

// compiles returns the error of a Python program that cannot be read.
func compiles(t *testing.T, program string) error {
	t.Helper()
	python := exec.CommandContext(t.Context(), "python3", "-c", "import sys; compile(sys.stdin.read(), 'block', 'exec')")
	python.Stdin = strings.NewReader(program)
	if out, err := python.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
