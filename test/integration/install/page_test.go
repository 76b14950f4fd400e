// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// The blocks of docs/install.md are followed one by one, in a folder that has what a release has. Each block of
// commands finds a cluster with nothing but the namespace.
func TestTheCommandsOfTheInstallationPageWork(t *testing.T) {
	page, err := manual.Read("docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(filepath.Join(hostcluster.RepositoryRoot(), "artifacts"), filepath.Join(folder, "artifacts")); err != nil {
		t.Fatal(err)
	}
	helm, err := helmProgram()
	if err != nil {
		t.Fatal(err)
	}
	reader := manual.Reader{
		Folder: folder,
		Environment: append(env.Host.KubectlCommand(t.Context()).Env,
			"PATH="+strings.Join([]string{filepath.Dir(env.Host.Kubectl()), filepath.Dir(helm), os.Getenv("PATH")}, ":")),
		Patience: time.Minute,
	}
	ran := 0
	for _, block := range page.Blocks {
		if block.IsRun() {
			ran++
			empty(t)
		}
		reader.Do(t, page, block)
	}
	if ran == 0 {
		t.Error("no commands were run")
	}
}

// empty takes away what an installation made, and leaves the namespace, because its deletion takes some
// seconds.
func empty(t *testing.T) {
	t.Helper()
	prepare(t)
	made := map[string]*unstructured.Unstructured{}
	for _, all := range []string{"all, embedded etcd", "all, external etcd"} {
		maps.Copy(made, objects(t, kustomize(t, choices[all])))
	}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": slices.Collect(maps.Values(made))})
	if err != nil {
		t.Fatal(err)
	}
	remove := env.Host.KubectlCommand(t.Context(), "delete", "--wait=false", "--ignore-not-found", "-f", "-")
	remove.Stdin = bytes.NewReader(list)
	if out, err := remove.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// What the manifests leave to the user, and what Helm remembers.
	env.Kubectl(t, "-n", "metacontroller", "delete", "configmaps,secrets", "--all", "--wait=false")
}
