// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The blocks of docs/install.md are followed one by one, in a folder that has what a release has. A comment
// before a block says if it is different:
//
//	<!-- not run: why -->     the block is left out
//	<!-- file: a b -->        these are files: the block is what is in each, or the reader brings them
//
// Each block of commands finds a cluster with nothing but the namespace.
func TestTheCommandsOfTheInstallationPageWork(t *testing.T) {
	folder := t.TempDir()
	if err := os.Symlink(filepath.Join(hostcluster.RepositoryRoot(), "artifacts"), filepath.Join(folder, "artifacts")); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, block := range blocks(t) {
		switch {
		case len(block.files) > 0:
			for _, file := range block.files {
				save(t, filepath.Join(folder, file), block.text)
			}
		case block.notRun == "":
			ran++
			empty(t)
			typed(t, folder, block.text)
		}
	}
	if ran == 0 {
		t.Error("no commands were run")
	}
}

// block is a block of a page.
type block struct {
	text   string
	files  []string
	notRun string // why
}

var (
	comment = regexp.MustCompile(`^<!-- (file|not run): (.*) -->$`)
	// notShell are the languages of blocks that are no commands, and need a comment that says what they are.
	notShell = regexp.MustCompile("^```(yaml|dockerfile)$")
)

// blocks reads the page. Commands are indented; files are fenced.
func blocks(t *testing.T) []block {
	t.Helper()
	var all []block
	var next block     // what the comment says about the next block
	var open *[]string // the lines of a block that has begun
	end := func() {
		if open != nil {
			next.text = strings.TrimSpace(strings.Join(*open, "\n")) + "\n"
			all = append(all, next)
			next, open = block{}, nil
		}
	}
	fenced := false
	for line := range strings.Lines(read(t, filepath.Join(hostcluster.RepositoryRoot(), "docs", "install.md"))) {
		line = strings.TrimRight(line, "\n")
		said := comment.FindStringSubmatch(line)
		switch {
		case fenced && line == "```":
			fenced = false
			end()
		case fenced:
			*open = append(*open, line)
		case strings.HasPrefix(line, "```"):
			end()
			if !notShell.MatchString(line) || len(next.files) == 0 {
				t.Fatalf("%s: indent commands, and say in a comment which file this is", line)
			}
			fenced, open = true, &[]string{}
		case strings.HasPrefix(line, "    "):
			if open == nil {
				if len(next.files) > 0 { // of the reader
					all, next = append(all, next), block{}
				}
				open = &[]string{}
			}
			*open = append(*open, strings.TrimPrefix(line, "    "))
		case line == "" && open != nil:
			*open = append(*open, "")
		default:
			end()
			if said != nil && said[1] == "file" {
				next.files = strings.Fields(said[2])
			} else if said != nil {
				next.notRun = said[2]
			}
		}
	}
	end()
	return all
}

func save(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// typed runs commands as one who reads them would type them.
func typed(t *testing.T, folder, commands string) {
	t.Helper()
	helm, err := helmProgram()
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	shell.Dir = folder
	shell.Env = append(env.Host.KubectlCommand(t.Context()).Env,
		"PATH="+strings.Join([]string{filepath.Dir(env.Host.Kubectl()), filepath.Dir(helm), os.Getenv("PATH")}, ":"))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%s%v:\n%s", commands, err, out)
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
	maps.DeleteFunc(made, func(_ string, object *unstructured.Unstructured) bool { return object.GetKind() == "Namespace" })
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
