// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheManifestIsRendered(t *testing.T) {
	_, manifest, _ := strings.Cut(read(t, deploy("metacontroller.yaml")), "\n")
	if diff := cmp.Diff(env.Kubectl(t, "kustomize", deploy(".")), manifest); diff != "" {
		t.Errorf("artifacts/deploy/metacontroller.yaml is out of date: run `make manifests` (-want +got):\n%s", diff)
	}
}

func TestTheHostAcceptsTheManifest(t *testing.T) {
	prepare(t)
	strictly(t, read(t, deploy("metacontroller.yaml")), "--dry-run=server")
}

func TestTheHostAcceptsEachOverlay(t *testing.T) {
	prepare(t)
	overlays, err := os.ReadDir(deploy("overlays"))
	if err != nil || len(overlays) == 0 {
		t.Fatalf("no overlays: %v", err)
	}
	for _, overlay := range overlays {
		t.Run(overlay.Name(), func(t *testing.T) {
			strictly(t, env.Kubectl(t, "kustomize", deploy(filepath.Join("overlays", overlay.Name()))), "--dry-run=server")
		})
	}
}
