// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is a page of the documentation that is followed as a reader would: the files are saved, the
// commands typed, and what they print compared with the page.
type page struct {
	steps []pageStep
}

// pageStep is a file to save, or commands to run. If the page shows what the last command prints, it is run
// until it prints that.
type pageStep struct {
	file, content string
	commands      []string
	prints        string
}

var saveAs = regexp.MustCompile("Save this as `([^`]+)`")

// readPage reads the fenced blocks of a page: sh is commands, text is what the commands before it print, and
// any other block is the file that the text before it names.
func readPage(t *testing.T, name string) page {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var read page
	prose := ""
	for i, part := range strings.Split(string(content), "\n```") {
		if i%2 == 0 {
			prose = part
			continue
		}
		language, block, _ := strings.Cut(part, "\n")
		switch language {
		case "sh":
			read.steps = append(read.steps, pageStep{commands: strings.Split(strings.TrimSpace(block), "\n")})
		case "text":
			read.steps[len(read.steps)-1].prints = block
		default:
			names := saveAs.FindAllStringSubmatch(prose, -1)
			if len(names) == 0 {
				t.Fatalf("%s does not say where to save this %s:\n%s", name, language, block)
			}
			read.steps = append(read.steps, pageStep{file: names[len(names)-1][1], content: block + "\n"})
		}
	}
	if len(read.steps) == 0 {
		t.Fatalf("%s has no steps", name)
	}
	return read
}

// follow does what the page says in a new folder.
func (p page) follow(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, step := range p.steps {
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(dir, step.file), []byte(step.content), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for i, command := range step.commands {
			if i < len(step.commands)-1 || step.prints == "" {
				shell(t, dir, command)
				continue
			}
			eventually(t, func() error {
				out, err := tryShell(t.Context(), dir, command)
				if err != nil {
					return err
				}
				return comparePrinted(step.prints, out)
			})
		}
	}
}

// comparePrinted compares what a command prints with what a page shows. Ages, the random ends of names and the
// width of columns may differ.
func comparePrinted(want, got string) error {
	if want, got := withoutAccidents(want), withoutAccidents(got); want != got {
		return fmt.Errorf("the page shows:\n%s\nbut the command prints:\n%s", want, got)
	}
	return nil
}

var (
	randomEnds = regexp.MustCompile(`-[a-z0-9]{6,10}-[a-z0-9]{5}\b`)
	ages       = regexp.MustCompile(`\b(\d+[smh])+\b`)
	columns    = regexp.MustCompile(` +`)
)

func withoutAccidents(text string) string {
	text = randomEnds.ReplaceAllString(text, "-X")
	text = ages.ReplaceAllString(text, "AGE")
	return strings.TrimSpace(columns.ReplaceAllString(text, " "))
}
