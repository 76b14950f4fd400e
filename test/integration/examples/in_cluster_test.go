// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// Examples with hooks inside the cluster are applied as a whole, with a restricted namespace for
// the hooks. No other test may run meanwhile: kubectl fails if another test creates an example's
// type after kubectl has looked for it.
func TestTheHostAcceptsTheExamplesAsAWhole(t *testing.T) {
	wholes, err := filepath.Glob(filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", "*", "kustomization.yaml"))
	if err != nil || len(wholes) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, whole := range wholes {
		example := filepath.Dir(whole)
		t.Run(filepath.Base(example), func(t *testing.T) {
			out, err := env.Host.KubectlCommand(t.Context(), "apply", "--dry-run=server", "-k", example).CombinedOutput()
			if err != nil {
				t.Fatalf("kubectl apply -k: %v\n%s", err, out)
			}
			for line := range strings.Lines(string(out)) {
				if strings.HasPrefix(line, "Warning") && !comesFromTesting(line, example) {
					t.Errorf("the host has an objection: %s", line)
				}
			}
			if strings.Contains(env.Kubectl(t, "kustomize", example), "url: http://127.0.0.1") {
				t.Error("a hook inside the cluster is looked for on the server's own machine")
			}
		})
	}
}

// comesFromTesting reports whether a warning is only due to the test: the server runs outside of
// the cluster, where the hook has no address, and a dry run does not create the example's type.
func comesFromTesting(warning, example string) bool {
	if strings.Contains(warning, "the server cannot resolve the host") {
		return true
	}
	own, err := os.ReadFile(filepath.Join(example, "crd.yaml"))
	missing := regexp.MustCompile(`spec\.parentResource: the cluster does not serve "(\w+)" in ([\w.-]+)/`).FindStringSubmatch(warning)
	return err == nil && missing != nil && strings.Contains(string(own), "name: "+missing[1]+"."+missing[2]+"\n")
}
