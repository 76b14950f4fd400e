// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// part is a part of a document that is measured, between two marks.
type part struct{ begin, end string }

func partOf(name string) part {
	return part{"<!-- " + name + ", as measured: begin -->\n", "<!-- " + name + ", as measured: end -->\n"}
}

// replace replaces the part by what replaced makes of it.
func (p part) replace(document []byte, replaced func(old string) string) ([]byte, error) {
	before, rest, begins := bytes.Cut(document, []byte(p.begin))
	old, after, ends := bytes.Cut(rest, []byte(p.end))
	if !begins || !ends {
		return nil, fmt.Errorf("there is nothing between %q and %q", p.begin, p.end)
	}
	return bytes.Join([][]byte{before, []byte(p.begin), []byte(replaced(string(old))), []byte(p.end), after}, nil), nil
}

// write puts what was measured into a document. Of the rows of a table those that were not measured stay.
func (b *bench) write(path, run string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	document, err = partOf("table").replace(document, func(old string) string { return merge(old, b.rows, run) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(b.steps) > 0 {
		document, err = partOf("growth").replace(document, func(string) string { return growth(b.steps) })
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return os.WriteFile(path, document, 0o644)
}

// merge is the old table with the rows in place of those about the same.
func merge(old string, rows []row, run string) string {
	about := func(line string) string {
		cells := strings.SplitN(line, " | ", 3)
		return strings.Join(cells[:min(2, len(cells))], " | ")
	}
	fresh := map[string]string{}
	for _, r := range rows {
		line := r.line(run)
		fresh[about(line)] = line
	}
	text := tableHead
	for _, line := range strings.SplitAfter(strings.TrimPrefix(old, tableHead), "\n") {
		if now, measured := fresh[about(line)]; measured {
			delete(fresh, about(line))
			line = now
		}
		text += line
	}
	for _, r := range rows {
		if line := r.line(run); fresh[about(line)] != "" {
			text += line
		}
	}
	return text
}

// describeRun says of what commit, when, how often and where rows are measured.
func describeRun(ctx context.Context, rounds int) (string, error) {
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "", fmt.Errorf("ask git which commit is measured: %w", err)
	}
	machine, err := machine()
	counted := fmt.Sprintf("%d rounds", rounds)
	if rounds == 1 {
		counted = "1 round"
	}
	return fmt.Sprintf("%s, %s, %s, %s", strings.TrimSpace(string(commit)), time.Now().UTC().Format(time.DateOnly), counted, machine), err
}

// growth is a table of how cost grows.
func growth(steps []step) string {
	var b strings.Builder
	b.WriteString("| parents | RSS | CPU per quiet sync | restart to quiet |\n|---|---|---|---|\n")
	for _, s := range steps {
		fmt.Fprintf(&b, "| %d (%d ×) | %s | %.2f ms | %s |\n",
			s.sites, s.sites/steps[0].sites, mebibytes(s.resident), s.perSync, milliseconds(s.restart))
	}
	return b.String()
}

// machine is the kind of machine this is.
func machine() (string, error) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(info)) {
		if name, model, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return fmt.Sprintf("%d × %s, %s", runtime.NumCPU(), strings.TrimSpace(model), runtime.Version()), nil
		}
	}
	return "", errors.New("/proc/cpuinfo names no processor")
}
