// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// Reader follows pages.
type Reader struct {
	// Folder is where the reader begins.
	Folder string
	// Environment is that of the commands, as in exec.Cmd.
	Environment []string
	// Patience is how long the reader waits for what a page shows.
	Patience time.Duration
	// Instead has texts of pages and what the reader types, and sees, in their places. Printed has those that
	// the reader only sees.
	Instead, Printed []Word
}

// Word is a text of a page, and what stands for it in a test.
type Word struct{ Page, Here string }

// Follow does what the blocks of a page say, one after the other. It returns the number of blocks of
// commands.
func (r *Reader) Follow(t *testing.T, page *Page) (ran int) {
	t.Helper()
	for _, block := range page.Blocks {
		if block.IsRun() {
			ran++
		}
		r.Do(t, page, block)
	}
	return ran
}

// Do does what one block says.
func (r *Reader) Do(t *testing.T, page *Page, block *Block) {
	t.Helper()
	switch {
	case block.IsRun():
		r.enter(t, page.Where(block), block)
	case len(block.Files) > 0 && block.NotRun == "" && block.RunBy == "":
		r.save(t, block)
	}
}

func (r *Reader) save(t *testing.T, block *Block) {
	t.Helper()
	for _, file := range block.Files {
		path := filepath.Join(r.Folder, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(r.here(block.Text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// enter runs the commands of a block as one who reads them types them. If the page shows what they print, the
// last command is repeated until it does.
func (r *Reader) enter(t *testing.T, where string, block *Block) {
	t.Helper()
	commands := split(r.here(block.Text))
	for i, command := range commands {
		if server, isServer := strings.CutSuffix(command, " &"); isServer {
			r.start(t, where, server)
			continue
		}
		if i < len(commands)-1 || block.Prints == "" {
			if _, err := r.run(t.Context(), command); err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			continue
		}
		err := poll.Within(t.Context(), r.Patience, func(ctx context.Context) error {
			printed, failed := r.run(ctx, command)
			if err := compare(block.Prints, r.onPage(printed)); err != nil { // a page may show how a command fails
				return errors.Join(err, failed)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %s\n%v", where, command, err)
		}
	}
}

// split returns the commands of a block, each with its lines.
func split(text string) (commands []string) {
	var lines []string
	until := "" // the word that ends a document
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		lines = append(lines, line)
		if _, after, begins := strings.Cut(line, "<<'"); begins {
			until, _, _ = strings.Cut(after, "'")
		}
		if line == until {
			until = ""
		}
		if until == "" && !strings.HasSuffix(line, "\\") {
			command := strings.TrimSpace(withoutRemark(strings.Join(lines, "\n")))
			if command != "" {
				commands = append(commands, command)
			}
			lines = nil
		}
	}
	return commands
}

// withoutRemark returns a command of one line without the remark behind it.
func withoutRemark(command string) string {
	if strings.Contains(command, "\n") {
		return command
	}
	if strings.HasPrefix(command, "#") {
		return ""
	}
	command, _, _ = strings.Cut(command, "  #")
	return command
}

// run runs a command, stays in the folder that it leads to, and returns what it prints.
func (r *Reader) run(ctx context.Context, command string) (string, error) {
	where, err := os.CreateTemp("", "folder-")
	if err != nil {
		return "", err
	}
	defer os.Remove(where.Name())
	if err := where.Close(); err != nil {
		return "", err
	}
	shell := r.shell(ctx, command+"\npwd >'"+where.Name()+"'")
	out, err := shell.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	folder, err := os.ReadFile(where.Name())
	if err != nil {
		return "", err
	}
	r.Folder = strings.TrimSpace(string(folder))
	return string(out), nil
}

func (r *Reader) shell(ctx context.Context, line string) *exec.Cmd {
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	shell.Dir, shell.Env = r.Folder, r.Environment
	return shell
}

// start runs a program until the test ends, and waits until it says that it listens.
func (r *Reader) start(t *testing.T, where, command string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "program.log")
	server, err := process.Start(command, log, r.shell(context.WithoutCancel(t.Context()), "exec "+command))
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	t.Cleanup(func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
	})
	err = poll.Within(t.Context(), r.Patience, func(context.Context) error {
		if err := server.Exited(); err != nil {
			return err
		}
		if said := process.Tail(log, 1); !strings.Contains(said, "listens") {
			return fmt.Errorf("%s says %q", command, said)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
}

func (r *Reader) here(text string) string {
	for _, word := range r.Instead {
		text = strings.ReplaceAll(text, word.Page, word.Here)
	}
	return text
}

func (r *Reader) onPage(text string) string {
	for _, word := range slices.Concat(r.Instead, r.Printed) {
		text = strings.ReplaceAll(text, word.Here, word.Page)
	}
	return text
}
