// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package generated

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestTheClientsAddFewPackagesToAProgramThatUsesClientGo(t *testing.T) {
	const generated = "github.com/metacontroller/metacontroller-apiserver/pkg/generated/"
	common := dependencies(t, "k8s.io/client-go/kubernetes", "k8s.io/client-go/informers")
	added := dependencies(t, generated+"clientset/versioned", generated+"informers/externalversions",
		generated+"applyconfiguration/metacontroller/v1alpha1")
	added = slices.DeleteFunc(added, func(of string) bool { return slices.Contains(common, of) })
	if len(added) != 12 {
		t.Errorf("they add %d packages, and docs/observing.md says 12:\n%s", len(added), strings.Join(added, "\n"))
	}
}

func dependencies(t *testing.T, of ...string) []string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, of...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(output))
}
