// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strings"
	"testing"
)

// Kubectl runs kubectl as the user who may do everything and returns its standard output. The test
// fails if it does.
func (e *Env) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := e.Host.RunKubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// KubectlError runs a kubectl command that must fail, and returns the error.
func (e *Env) KubectlError(t testing.TB, args ...string) string {
	t.Helper()
	out, err := e.Host.RunKubectl(t.Context(), args...)
	if err == nil {
		t.Fatalf("kubectl %s should have failed, but says:\n%s", strings.Join(args, " "), out)
	}
	return err.Error()
}

// Apply runs `kubectl apply` on a manifest and returns what kubectl printed, warnings included.
func (e *Env) Apply(t testing.TB, manifest string, flags ...string) string {
	t.Helper()
	cmd := e.Host.KubectlCommand(t.Context(), append([]string{"apply", "-f", "-"}, flags...)...)
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	return string(out)
}
