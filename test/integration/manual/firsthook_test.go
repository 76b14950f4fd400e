// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// The page about the first hook has the same hook in three languages. It is followed with each.
func TestTheFirstHookInEachLanguage(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/first-hook.md")
	languages := map[string]bool{"In Python": true, "In TypeScript": true, "In Go": true}
	for language := range languages {
		t.Run(strings.TrimPrefix(language, "In "), func(t *testing.T) {
			reader := readerIn(t, t.TempDir())
			// Versions of Node before 22.18 do not run TypeScript.
			reader.Instead = append(reader.Instead, manual.Word{
				Page: "node hook.ts 8181",
				Here: "bash -c '" + esbuild(t) + " hook.ts --log-level=error --outfile=hook.mjs && exec node hook.mjs 8181'",
			})
			anotherPort(t, reader, "8181")
			own := 0
			for _, block := range page.Blocks {
				if block.Heading == language {
					own++
				}
				if languages[block.Heading] && block.Heading != language {
					continue
				}
				reader.Do(t, page, block)
			}
			if own != 2 {
				t.Errorf("the section %q has %d blocks, want a hook and its command", language, own)
			}
		})
	}
}

// esbuild returns the path of a program that takes the types out of TypeScript.
func esbuild(t *testing.T) string {
	t.Helper()
	tool := exec.CommandContext(t.Context(), "go", "tool", "-modfile=hack/tools/esbuild/go.mod", "-n", "esbuild")
	tool.Dir = hostcluster.RepositoryRoot()
	path, err := tool.Output()
	if err != nil {
		t.Fatalf("build esbuild: %v", err)
	}
	return strings.TrimSpace(string(path))
}
