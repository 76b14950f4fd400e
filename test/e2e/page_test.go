// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// followPage does in a new folder what a page of the documentation says.
func followPage(t *testing.T, path string) {
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
	if reader.Follow(t, page) == 0 {
		t.Errorf("%s has no commands", path)
	}
}
