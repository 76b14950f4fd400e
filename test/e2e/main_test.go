// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
)

// patience is how long a test waits for a condition. Pods are pulled, scheduled and started meanwhile, several
// at once.
const patience = 3 * time.Minute

// TestMain refuses to run without a cluster that the tests may do anything with.
func TestMain(m *testing.M) {
	if os.Getenv("E2E_KUBECONFIG") == "" {
		fmt.Fprintln(os.Stderr, "test/e2e needs a cluster: run `make e2e`, or set E2E_KUBECONFIG to the kubeconfig of one that may be broken")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func root() string { return hostcluster.RepositoryRoot() }

// tryShell runs a command line as a reader of the documentation would type it, and returns what it prints.
func tryShell(ctx context.Context, dir, line string) (string, error) {
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	command.Dir = dir
	command.Env = append(os.Environ(), "KUBECONFIG="+os.Getenv("E2E_KUBECONFIG"))
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", line, err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// shell is tryShell that fails the test.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	out, err := tryShell(t.Context(), dir, line)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run runs a command line at the root of the repository.
func run(t *testing.T, format string, args ...any) string {
	t.Helper()
	return shell(t, root(), fmt.Sprintf(format, args...))
}

var spaces = regexp.MustCompile(` +`)

// until runs a command line until it prints a text, in which one space stands for any number of them.
func until(t *testing.T, text, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	eventually(t, func() error {
		out, err := tryShell(t.Context(), root(), line)
		if err == nil && !strings.Contains(spaces.ReplaceAllString(out, " "), text) {
			err = fmt.Errorf("%s should print %q, but prints:\n%s", line, text, out)
		}
		return err
	})
}

// eventually waits until check returns nil, and fails the test with its last error if that takes too long.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	if err := poll.Within(t.Context(), patience, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}

// took logs how long a part of a test has taken.
func took(t *testing.T, begin time.Time, what string) time.Duration {
	t.Helper()
	duration := time.Since(begin).Round(10 * time.Millisecond)
	t.Logf("%s took %s", what, duration)
	return duration
}

func example(name string) string { return filepath.Join("artifacts", "examples", name) }
