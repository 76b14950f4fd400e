// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl is the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return filepath.Join(c.binaries, kubectlProgram) }

// KubectlCommand prepares a run of kubectl as the user who may do everything, for callers that need
// its streams.
func (c *Cluster) KubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Kubectl(), args...)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+c.AdminKubeconfig(),
		// Ports are used again by later clusters, whose discovery documents differ.
		"KUBECACHEDIR="+c.path("kubectl-cache"))
	return cmd
}

// RunKubectl runs kubectl as the user who may do everything and returns its standard output. Its
// standard error is in the error.
func (c *Cluster) RunKubectl(ctx context.Context, args ...string) (string, error) {
	cmd := c.KubectlCommand(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
