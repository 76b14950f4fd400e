// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

var updateReference = flag.Bool("update-reference", false, "write docs/api.md")

// docs/api.md is what the types say.
func TestTheAPIReferenceIsUpToDate(t *testing.T) {
	file := filepath.Join(hostcluster.RepositoryRoot(), "docs", "api.md")
	want := apiReference()
	if *updateReference {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("docs/api.md is not what the types say: run `make docs-reference` (%v)", err)
	}
}
