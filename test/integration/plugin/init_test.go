// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/poll"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// Whoever begins a controller does what its README.md says: from the first test to a controller that runs.
func TestTheREADMEOfANewController(t *testing.T) {
	binary, err := env.PluginBinary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range []struct{ name, flag, synced string }{
		{"python", "--lang=python", "1 of 1"}, {"node", "--lang=node", "1 of 1"}, {"go", "--lang=go", "1 of 1"},
		{"inline", "--inline", "5 of 5"},
	} {
		t.Run(hook.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), hook.name+"site")
			begin := exec.CommandContext(t.Context(), binary, "init", folder, hook.flag, "--group", "init.example")
			if out, err := begin.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			page := readREADME(t, folder)
			reader := &manual.Reader{
				Folder: folder, Patience: time.Minute,
				Environment: append(env.Host.KubectlCommand(t.Context()).Env,
					"KUBECONFIG="+kubeconfigIn(t, env.Namespace(t)), "PYTHONDONTWRITEBYTECODE=1",
					"PATH="+filepath.Dir(binary)+":"+filepath.Dir(env.Host.Kubectl())+":"+os.Getenv("PATH")),
			}
			otherPorts(t, reader, filepath.Join(folder, "controller.yaml"), "8080", "8081")
			t.Cleanup(func() {
				remove := env.Host.KubectlCommand(context.WithoutCancel(t.Context()), "delete", "-f", filepath.Join(folder, "controller.yaml"))
				if out, err := remove.CombinedOutput(); err != nil {
					t.Errorf("take the controller away: %v: %s", err, out)
				}
			})
			ran := 0
			for _, block := range page.Blocks {
				if block.Heading == "Run it in the cluster" {
					continue // which would pull an image
				}
				if block.IsRun() {
					ran++
				}
				reader.Do(t, page, block)
			}
			if ran != 4 {
				t.Errorf("%d blocks were run, want 4", ran)
			}
			site := hook.name + "site"
			err := poll.Within(t.Context(), reader.Patience, func(ctx context.Context) error {
				status := exec.CommandContext(ctx, binary, "status", site+"/my-"+site)
				status.Env = reader.Environment
				out, err := status.CombinedOutput()
				if !strings.Contains(string(out), "Synced, "+hook.synced+" children up to date") {
					return fmt.Errorf("the status is (error %v):\n%s", err, out)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// readREADME reads the page of a new controller, which is not in the repository.
func readREADME(t *testing.T, folder string) *manual.Page {
	t.Helper()
	path, err := filepath.Rel(hostcluster.RepositoryRoot(), filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := manual.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// kubeconfigIn returns a kubeconfig whose namespace is that one.
func kubeconfigIn(t *testing.T, namespace string) string {
	t.Helper()
	admin, err := os.ReadFile(env.Host.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(strings.Replace(string(admin), "- context:\n", "- context:\n    namespace: "+namespace+"\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// otherPorts has a reader and a controller use free ports in the place of those that the page names.
func otherPorts(t *testing.T, reader *manual.Reader, controller string, ports ...string) {
	t.Helper()
	raw, err := os.ReadFile(controller)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, port := range ports {
		free, err := process.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		reader.Instead = append(reader.Instead, manual.Word{Page: port, Here: strconv.Itoa(free)})
		text = strings.ReplaceAll(text, "127.0.0.1:"+port, "127.0.0.1:"+strconv.Itoa(free))
	}
	if err := os.WriteFile(controller, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
