// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/base64"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// An upgrade must not take the authority away that the server or cert-manager has written.
func TestApplyingAgainLeavesTheCABundle(t *testing.T) {
	empty(t)
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	bundle := base64.StdEncoding.EncodeToString(authority.Cert)
	manifest := read(t, deploy("metacontroller.yaml"))
	for _, flags := range [][]string{{}, {"--server-side"}} {
		t.Run("kubectl apply "+strings.Join(flags, ""), func(t *testing.T) {
			empty(t)
			env.Apply(t, manifest, flags...)
			env.Kubectl(t, "patch", "apiservice", "v1alpha1.metacontroller.k8s.io", "--type=merge", "-p", `{"spec":{"caBundle":"`+bundle+`"}}`)
			env.Apply(t, strings.ReplaceAll(manifest, ":latest", ":another"), flags...)
			if got := env.Kubectl(t, "get", "apiservice", "v1alpha1.metacontroller.k8s.io", "-o", "jsonpath={.spec.caBundle}"); got != bundle {
				t.Errorf("the caBundle is now %q", got)
			}
		})
	}
}

// Hooks run in the namespace of the server, and few of them fulfil the level restricted.
func TestHooksMayRunAsRootBesideTheServer(t *testing.T) {
	prepare(t)
	env.Kubectl(t, "-n", "metacontroller", "create", "serviceaccount", "hook")
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: hook, namespace: metacontroller}, spec: {serviceAccountName: hook, containers: [` +
		`{name: hook, image: "python:3", command: [python3, /hook.py]}], hostNetwork: HOSTNETWORK}}`
	out := env.Apply(t, strings.Replace(pod, "HOSTNETWORK", "false", 1), "--dry-run=server")
	if !strings.Contains(out, `Warning: would violate PodSecurity "restricted:latest"`) {
		t.Errorf("nobody is told that the hook is not restricted:\n%s", out)
	}
	apply := env.Host.KubectlCommand(t.Context(), "apply", "--dry-run=server", "-f", "-")
	apply.Stdin = strings.NewReader(strings.Replace(pod, "HOSTNETWORK", "true", 1))
	if out, err := apply.CombinedOutput(); err == nil || !strings.Contains(string(out), `violates PodSecurity "baseline:latest"`) {
		t.Errorf("a Pod in the network of its node is not refused: %v\n%s", err, out)
	}
}

func TestUndeployRemovesEverything(t *testing.T) {
	empty(t)
	env.Apply(t, read(t, deploy("metacontroller.yaml")))

	if out, err := undeploy(t, "FORCE="); err == nil || !strings.Contains(out, "The controllers cannot be listed") {
		t.Errorf("with a server that does not answer, controllers may be lost: %v\n%s", err, out)
	}
	env.Kubectl(t, "get", "namespace", "metacontroller")

	if out, err := undeploy(t, "FORCE=1"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env.Kubectl(t, "get", "namespace", "metacontroller") // Metacontroller may be in it
	left := env.Kubectl(t, "get", "clusterroles,clusterrolebindings,apiservices", "-o", "name")
	left += env.Kubectl(t, "-n", "kube-system", "get", "rolebindings", "-o", "name")
	for line := range strings.Lines(left) {
		if strings.Contains(line, "metacontroller") {
			t.Errorf("this is left: %s", line)
		}
	}

	if out, err := undeploy(t, "FORCE="); err != nil {
		t.Errorf("a second time: %v\n%s", err, out)
	}
}

func undeploy(t *testing.T, force string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(hostcluster.RepositoryRoot(), "hack", "undeploy.sh"), deploy("."))
	command.Env = append(env.Host.KubectlCommand(t.Context()).Env, "KUBECTL="+env.Host.Kubectl(), force)
	out, err := command.CombinedOutput()
	return string(out), err
}
