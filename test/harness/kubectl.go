// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
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

// WaitUntilEstablished waits until the cluster serves the types of CustomResourceDefinitions. Of is what names them to
// `kubectl wait`, which fails instead of waiting if it finds a definition before that has any conditions.
func (e *Env) WaitUntilEstablished(t testing.TB, of ...string) {
	t.Helper()
	e.Eventually(t, func(context.Context) error {
		_, err := e.Host.RunKubectl(t.Context(), append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, of...)...)
		return err
	})
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
