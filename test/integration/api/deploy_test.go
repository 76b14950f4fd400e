// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// All tests here run with the rights of the manifests. This test is about the rest of the
// manifests.
func TestTheHostAcceptsTheDeploymentManifests(t *testing.T) {
	for _, folder := range []string{".", "overlays/tenants"} {
		t.Run(folder, func(t *testing.T) {
			manifests := filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "deploy", folder)
			cmd := env.Host.KubectlCommand(t.Context(), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-k", manifests)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("kubectl apply -k: %v\n%s", err, out)
			}
			if strings.Contains(string(out), "Warning") {
				t.Errorf("the host has objections:\n%s", out)
			}
			contains(t, string(out), "statefulset.apps/metacontroller-apiserver serverside-applied (server dry run)")
		})
	}
}
