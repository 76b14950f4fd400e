// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.MainWithoutServer(m, func(e *harness.Env) { env = e }))
}

// deploy is the path of something in artifacts/deploy.
func deploy(path string) string {
	return filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "deploy", path)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// strictly applies manifests as the host's strictest reader: it must know each field, and object to
// nothing. It returns what kubectl prints.
func strictly(t *testing.T, manifests string, flags ...string) string {
	t.Helper()
	out := env.Apply(t, manifests, append([]string{"--server-side", "--validate=strict"}, flags...)...)
	if strings.Contains(out, "Warning") {
		t.Errorf("the host has objections:\n%s", out)
	}
	return out
}

// prepare makes what an installation finds: its namespace, and the types of cert-manager.
func prepare(t *testing.T) {
	t.Helper()
	strictly(t, read(t, deploy("base/namespace.yaml")), "--force-conflicts")
	certManager.Do(func() {
		strictly(t, read(t, filepath.Join("testdata", "cert-manager.yaml")))
		env.WaitUntilEstablished(t, "crd/issuers.cert-manager.io", "crd/certificates.cert-manager.io")
	})
}

// certManager creates the types of cert-manager, which no test deletes.
var certManager sync.Once
