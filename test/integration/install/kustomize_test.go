// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
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
