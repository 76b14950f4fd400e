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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// startExample runs the hook of an example, whose controller looks for it at the usual port, and creates all but its
// objects. The test ends it.
func startExample(t *testing.T, name, usualPort string) (directory string) {
	t.Helper()
	directory = filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", name)
	port := startExampleHook(t, directory)
	controller, err := os.ReadFile(filepath.Join(directory, "controller.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	env.Kubectl(t, "apply", "-f", filepath.Join(directory, "crd.yaml"))
	env.Kubectl(t, "wait", "--for=condition=Established", "crd/"+name+"s.example.com", "--timeout=30s")
	env.Apply(t, strings.ReplaceAll(string(controller), usualPort, port))
	return directory
}

// HelloWorld, which is not here, is what the demo plays.
func TestTheImmortalContainerComesBack(t *testing.T) {
	example := startExample(t, "immortalcontainer", "8081")
	namespace := env.Namespace(t)
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
	endExample(t, "immortalcontainer")
}

// A ConfigMap is copied into the namespaces with a label, and follows both.
func TestTheGlobalConfigMapIsCopied(t *testing.T) {
	example := startExample(t, "globalconfigmap", "8082")
	one, two := env.Namespace(t), env.Namespace(t)
	env.Kubectl(t, "label", "namespace", one, "settings=yes")
	env.Kubectl(t, "apply", "-f", filepath.Join(example, "settings.yaml"))

	// A copy is there if there is a greeting for it.
	waitForGreetings := func(greetings map[string]string) {
		t.Helper()
		for namespace, greeting := range greetings {
			env.Eventually(t, func(ctx context.Context) error {
				found := ""
				copied, err := env.Kube.CoreV1().ConfigMaps(namespace).Get(ctx, "settings", metav1.GetOptions{})
				if err == nil {
					found = copied.Data["greeting"]
				} else if !apierrors.IsNotFound(err) {
					return err
				}
				if found != greeting {
					return fmt.Errorf("the greeting in namespace %s is %q, want %q", namespace, found, greeting)
				}
				return nil
			})
		}
	}
	waitForGreetings(map[string]string{one: "Hello", two: ""})
	env.Kubectl(t, "wait", "--for=jsonpath={.status.copies}=1", "gcm/settings", "--timeout=30s")
	env.Kubectl(t, "label", "namespace", two, "settings=yes")
	waitForGreetings(map[string]string{two: "Hello"})
	env.Kubectl(t, "patch", "configmap", "settings", "-n", "default", "-p", `{"data":{"greeting":"Good evening"}}`)
	waitForGreetings(map[string]string{one: "Good evening", two: "Good evening"})
	env.Kubectl(t, "label", "namespace", one, "settings-")
	waitForGreetings(map[string]string{one: "", two: "Good evening"})
	env.Kubectl(t, "delete", "configmap", "settings", "-n", "default")
	waitForGreetings(map[string]string{two: ""})
	endExample(t, "globalconfigmap")
}

// endExample deletes the controller, which must not run on when the other tests do, and its parents' type.
func endExample(t *testing.T, name string) {
	t.Helper()
	env.Kubectl(t, "delete", "cc", name)
	env.Kubectl(t, "delete", "crd", name+"s.example.com")
}
