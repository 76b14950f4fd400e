// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTheImmortalContainerComesBack(t *testing.T) {
	withBothHooks(t, "immortalcontainer", "8081", playImmortalContainer)
}

func playImmortalContainer(t *testing.T, example string) {
	namespace := env.Namespace(t)
	env.Kubectl(t, "apply", "-n", namespace, "-f", filepath.Join(example, "forever.yaml"))

	const pod = "pod/forever-immortalpod"
	waitForCurrentPod := func() {
		t.Helper()
		waitFor(t, namespace, "immortalcontainer/forever", "{.status.currentPod}", "forever-immortalpod")
	}
	waitForCurrentPod()
	first := uid(t, namespace, pod)
	env.Kubectl(t, "delete", pod, "-n", namespace)
	waitForAnother(t, namespace, pod, first)
	waitForCurrentPod()

	refused := env.KubectlError(t, "patch", "ic", "forever", "-n", namespace, "--type=merge", "-p", `{"spec":{"image":""}}`)
	if !strings.Contains(refused, "spec.image") {
		t.Errorf("no word about spec.image in:\n%s", refused)
	}
}
