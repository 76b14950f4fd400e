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

const (
	measuredBegin = "<!-- What `make bench` has measured begins here; it writes this part anew. -->\n"
	measuredEnd   = "<!-- What `make bench` has measured ends here. -->\n"
)

// write puts what was measured into a document, between the two marks.
func (b *bench) write(ctx context.Context, path string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(document, []byte(measuredBegin))
	_, after, ends := bytes.Cut(rest, []byte(measuredEnd))
	if !begins || !ends {
		return fmt.Errorf("%s has no part between %q and %q", path, measuredBegin, measuredEnd)
	}
	measured, err := b.measured(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.Join([][]byte{before, []byte(measuredBegin), []byte(measured), []byte(measuredEnd), after}, nil), 0o644)
}

func (b *bench) measured(ctx context.Context) (string, error) {
	machine, err := machine()
	if err != nil {
		return "", err
	}
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "", fmt.Errorf("ask git which commit is measured: %w", err)
	}
	text := fmt.Sprintf("\nMeasured on %s by `make bench` at commit %s: %s, Linux, %s; host cluster of Kubernetes v1.36.3; medians of %d rounds.\n\n%s",
		time.Now().UTC().Format(time.DateOnly), strings.TrimSpace(string(commit)), machine, runtime.Version(), b.rounds, table(b.rows))
	if len(b.steps) > 0 {
		text += "\nHow cost grows with the number of parents, which have 4 children each:\n\n" + growth(b.steps)
	}
	return text + "\n", nil
}

// growth is a table of how cost grows.
func growth(steps []step) string {
	var b strings.Builder
	b.WriteString("| parents | RSS | CPU per quiet sync | restart to quiet |\n|---|---|---|---|\n")
	for _, s := range steps {
		fmt.Fprintf(&b, "| %d (%d ×) | %s | %.2f ms | %s |\n", s.sites, s.sites/steps[0].sites, mebibytes(s.resident), s.perSync,
			milliseconds(s.restart.Seconds()*1000))
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
			return fmt.Sprintf("%d × %s", runtime.NumCPU(), strings.TrimSpace(model)), nil
		}
	}
	return "", errors.New("/proc/cpuinfo names no processor")
}
