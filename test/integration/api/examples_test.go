// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

// startExampleHook runs the hook of an example and returns its port.
func startExampleHook(t *testing.T, example string) string {
	t.Helper()
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "hook.log")
	hook, err := process.Start("hook.py", log, exec.Command("python3", filepath.Join(example, "hook.py"), strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hook.Kill(); err != nil {
			t.Error(err)
		}
	})
	env.Eventually(t, func(context.Context) error {
		if err := hook.Exited(); err != nil {
			t.Fatal(err)
		}
		if said := process.Tail(log, 1); !strings.Contains(said, "listens") {
			return fmt.Errorf("the hook says %q", said)
		}
		return nil
	})
	return strconv.Itoa(port)
}

// HelloWorld, the other example, is what the demo plays.
func TestTheImmortalContainerComesBack(t *testing.T) {
	example := filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", "immortalcontainer")
	port := startExampleHook(t, example)
	controller, err := os.ReadFile(filepath.Join(example, "controller.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	namespace := env.Namespace(t)
	env.Kubectl(t, "apply", "-f", filepath.Join(example, "crd.yaml"))
	env.Kubectl(t, "wait", "--for=condition=Established", "crd/immortalcontainers.example.com", "--timeout=30s")
	env.Apply(t, strings.Replace(string(controller), "8081", port, 1))
	env.Kubectl(t, "apply", "-n", namespace, "-f", filepath.Join(example, "forever.yaml"))

	const pod = "forever-immortalpod"
	pods := env.Kube.CoreV1().Pods(namespace)
	waitForPodOtherThan := func(uid string) string {
		found := ""
		env.Eventually(t, func(ctx context.Context) error {
			current, err := pods.Get(ctx, pod, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if found = string(current.UID); found == uid {
				return fmt.Errorf("the Pod is still %s", uid)
			}
			return nil
		})
		env.Kubectl(t, "wait", "-n", namespace, "--for=jsonpath={.status.currentPod}="+pod, "immortalcontainer/forever", "--timeout=30s")
		return found
	}
	first := waitForPodOtherThan("")
	env.Kubectl(t, "delete", "pod", pod, "-n", namespace)
	waitForPodOtherThan(first)

	invalid := []string{"patch", "ic", "forever", "-n", namespace, "--type=merge", "-p", `{"spec":{"image":""}}`}
	contains(t, env.KubectlError(t, invalid...), "spec.image")

	// Our own controller must not run on when the other tests do.
	env.Kubectl(t, "delete", "cc", "immortalcontainer")
	env.Kubectl(t, "delete", "crd", "immortalcontainers.example.com")
}
