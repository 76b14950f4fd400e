// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hostcluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Names of the programs, as they are in KUBEBUILDER_ASSETS.
const (
	etcdProgram              = "etcd"
	apiServerProgram         = "kube-apiserver"
	controllerManagerProgram = "kube-controller-manager"
	kubectlProgram           = "kubectl"
)

// FindBinaries returns the folder with the host cluster's programs: $KUBEBUILDER_ASSETS, else the
// one that `make host-binaries` fills. It builds nothing.
func FindBinaries(ctx context.Context) (string, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		script := filepath.Join(RepositoryRoot(), "hack", "hostcluster", "build.sh")
		out, err := exec.CommandContext(ctx, script, "--print-dir").Output()
		if err != nil {
			return "", fmt.Errorf("ask %s where the host cluster's programs are: %w", script, err)
		}
		dir = strings.TrimSpace(string(out))
	}
	for _, program := range []string{etcdProgram, apiServerProgram, controllerManagerProgram, kubectlProgram} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return "", fmt.Errorf("no %s for the host cluster: run `make host-binaries`, or point KUBEBUILDER_ASSETS to a folder that has it: %w", program, err)
		}
	}
	return dir, nil
}

// RepositoryRoot is the top of the source tree this package was compiled from.
func RepositoryRoot() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}
