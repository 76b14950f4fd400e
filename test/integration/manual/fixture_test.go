// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

func read(t *testing.T, path string) *manual.Page {
	t.Helper()
	page, err := manual.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// readerIn returns a reader whose kubectl works in a new namespace. The reader sees it as "default".
func readerIn(t *testing.T, folder string) *manual.Reader {
	t.Helper()
	namespace := env.Namespace(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	admin, err := os.ReadFile(env.Host.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	inNamespace := strings.Replace(string(admin), "- context:\n", "- context:\n    namespace: "+namespace+"\n", 1)
	if err := os.WriteFile(kubeconfig, []byte(inNamespace), 0o600); err != nil {
		t.Fatal(err)
	}
	return &manual.Reader{
		Folder: folder,
		Environment: append(env.Host.KubectlCommand(t.Context()).Env,
			"KUBECONFIG="+kubeconfig, "PATH="+programs(t)+":"+filepath.Dir(env.Host.Kubectl())+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1"),
		Patience: time.Minute,
		Instead:  []manual.Word{{Page: "namespace: default", Here: "namespace: " + namespace}},
		Printed:  []manual.Word{{Page: "default", Here: namespace}},
	}
}

// programs returns a folder with the programs of this repository by the names that readers type.
func programs(t *testing.T) string {
	t.Helper()
	server, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := pluginBinary()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, program := range map[string]string{"metacontroller-apiserver": server, "kubectl-metacontroller": plugin} {
		if err := os.Symlink(program, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// Tests beside each other build each program once.
var (
	serverBinary = sync.OnceValues(func() (string, error) { return env.ServerBinary(context.Background()) })
	pluginBinary = sync.OnceValues(func() (string, error) { return env.PluginBinary(context.Background()) })
)

// anotherPort has the reader take a free port in place of the one that pages name.
func anotherPort(t *testing.T, reader *manual.Reader, named string) {
	t.Helper()
	free, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	reader.Instead = append(reader.Instead, manual.Word{Page: named, Here: strconv.Itoa(free)})
}

// checkout returns a folder like that of the repository, for readers that are to change nothing in it. The
// examples in it have the reader's words.
func checkout(t *testing.T, reader *manual.Reader) string {
	t.Helper()
	folder, root := t.TempDir(), hostcluster.RepositoryRoot()
	for _, top := range []string{"artifacts/deploy", "artifacts/monitoring", "artifacts/charts", "docs"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, top)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, top), filepath.Join(folder, top)); err != nil {
			t.Fatal(err)
		}
	}
	copyExamples(t, filepath.Join(root, "artifacts", "examples"), filepath.Join(folder, "artifacts", "examples"), reader.Instead)
	return folder
}

// copyExamples copies a folder. Words are exchanged in controllers.
func copyExamples(t *testing.T, from, to string, words []manual.Word) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(content)
		if filepath.Base(path) == "controller.yaml" {
			for _, word := range words {
				text = strings.ReplaceAll(text, word.Page, word.Here)
			}
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(target, []byte(text), info.Mode())
	})
	if err != nil {
		t.Fatal(fmt.Errorf("copy %s: %w", from, err))
	}
}
