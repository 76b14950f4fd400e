// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// followPage does in a new folder what a page of the documentation says. The Pods of the page are in the namespace.
func followPage(t *testing.T, path, namespace string) {
	t.Helper()
	page, err := manual.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	reader := manual.Reader{
		Folder:      t.TempDir(),
		Environment: append(os.Environ(), "KUBECONFIG="+os.Getenv("E2E_KUBECONFIG")),
		Patience:    patience,
	}
	defer deleteSilentPods(t, namespace)()
	if reader.Follow(t, page) == 0 {
		t.Errorf("%s has no commands", path)
	}
}

// deleteSilentPods deletes Pods of a namespace that have succeeded and have an empty log, so that their controller creates them again. It
// goes on until stop is called. containerd may lose the log of a container that ends at once; its own log then says "reading from
// a closed fifo".
func deleteSilentPods(t *testing.T, namespace string) (stop func()) {
	t.Helper()
	line := strings.ReplaceAll(`while true; do
		for pod in $(kubectl -n NS get pods --field-selector=status.phase=Succeeded -o name); do
			if log=$(kubectl -n NS logs "$pod") && [[ -z $log ]]; then kubectl -n NS delete "$pod" --wait=false || true; fi
		done
		sleep 1
	done`, "NS", namespace)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _, _ = tryShell(ctx, root(), line) })
	return func() {
		cancel()
		running.Wait()
	}
}
