// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// filesOf returns the files that a page of the documentation tells its reader to save.
func filesOf(t *testing.T, page string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, match := range regexp.MustCompile("(?s)Save this as `([^`]+)`[^`]*(?:`[^`\n]+`[^`]*)*?\n```\\w+\n(.*?)\n```").FindAllStringSubmatch(string(content), -1) {
		files[match[1]] = match[2] + "\n"
	}
	return files
}

// The page about the first hook has the same hook in three languages. Each does what the page says.
func TestTheFirstHookInEachLanguage(t *testing.T) {
	files := filesOf(t, "first-hook.md")
	directory := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, interpreter := range map[string][]string{"hook.py": {"python3", "-B"}, "hook.mjs": {"node"}, "hook.go": nil} {
		t.Run(file, func(t *testing.T) {
			if interpreter == nil {
				program := filepath.Join(t.TempDir(), "hook")
				build := exec.CommandContext(t.Context(), "go", "build", "-o", program, filepath.Join(directory, file))
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("build the hook: %v\n%s", err, out)
				}
				playFirstHook(t, files, startProgram(t, program))
				return
			}
			playFirstHook(t, files, startServer(t, filepath.Join(directory, file), interpreter...))
		})
	}
}

// playFirstHook does what the page tells its reader to do.
func playFirstHook(t *testing.T, files map[string]string, port string) {
	t.Helper()
	controller := strings.ReplaceAll(files["controller.yaml"], ":8080/", ":"+port+"/")
	env.Apply(t, files["crd.yaml"])
	env.Kubectl(t, "wait", "--for=condition=Established", "crd/websites.example.com", patience)
	env.Apply(t, controller)
	t.Cleanup(func() {
		for _, left := range [][]string{{"website", "--all"}, {"configmap", "theme"}, {"compositecontroller", "websites"}, {"crd", "websites.example.com"}} {
			remove := env.Host.KubectlCommand(context.WithoutCancel(t.Context()), append([]string{"delete", "--ignore-not-found"}, left...)...)
			if out, err := remove.CombinedOutput(); err != nil {
				t.Errorf("take %v away: %v\n%s", left, err, out)
			}
		}
	})
	env.Kubectl(t, "wait", "--for=condition=Ready", "compositecontroller/websites", patience)
	env.Apply(t, files["site.yaml"])
	waitFor := func(object, path, want string) {
		t.Helper()
		env.Kubectl(t, "wait", "--for=jsonpath="+path+"="+want, object, patience)
	}
	exists := func(object string) {
		t.Helper()
		env.Eventually(t, func(ctx context.Context) error {
			if out, err := env.Host.KubectlCommand(ctx, "get", object).CombinedOutput(); err != nil {
				return errors.New(string(out))
			}
			return nil
		})
	}
	exists("deployment/blog")
	exists("configmap/blog")
	waitFor("website/blog", "{.status.theme}", "white")

	env.Kubectl(t, "patch", "website", "blog", "--type=merge", "-p", `{"spec":{"replicas":3}}`)
	waitFor("deployment/blog", "{.spec.replicas}", "3")
	env.Kubectl(t, "patch", "deployment", "blog", "--subresource=status", "--type=merge", "-p", `{"status":{"replicas":3,"readyReplicas":2}}`)
	waitFor("website/blog", "{.status.ready}", "2")
	env.Kubectl(t, "delete", "deployment", "blog")
	exists("deployment/blog")

	env.Kubectl(t, "create", "configmap", "theme", "--from-literal=color=orange")
	waitFor("website/blog", "{.status.theme}", "orange")
	env.Eventually(t, func(ctx context.Context) error {
		page, err := env.Kube.CoreV1().ConfigMaps("default").Get(ctx, "blog", metav1.GetOptions{})
		if err == nil && page.Data["index.html"] != `<body style="background: orange">Hello</body>` {
			err = fmt.Errorf("the page is %q", page.Data["index.html"])
		}
		return err
	})

	env.Kubectl(t, "patch", "website", "blog", "--type=merge", "-p", `{"spec":{"replicas":0}}`)
	env.WaitForEvent(t, "default", "blog", "NobodyServes", "the site is not served")
	env.Kubectl(t, "delete", "website", "blog", patience)
}
