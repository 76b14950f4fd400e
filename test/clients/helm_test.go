// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// runHelm runs the helm that `make lint` runs, in the namespace of the release, and returns what it prints.
func runHelm(t *testing.T, r *release, args ...string) string {
	t.Helper()
	out, err := tryHelm(t, r, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryHelm(t *testing.T, r *release, args ...string) (string, error) {
	t.Helper()
	args = append(args, "--namespace", r.namespace)
	command := exec.CommandContext(t.Context(), tool(t, "hack/tools/helm", "helm"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+env.Host.AdminKubeconfig())
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// chart writes a chart with the release, whose value size is that of the parents. Helm never deletes what is in crds/.
func (r *release) chart(t *testing.T) string {
	t.Helper()
	templates := map[string]string{"templates/controller.yaml": r.controller()}
	for _, name := range r.parents {
		templates["templates/"+name+".yaml"] = r.parent(name, "{{ .Values.size }}")
	}
	templates["crds/buckets.yaml"] = r.definition()
	return chartOf(t, templates)
}

// chartOf writes a chart with these files.
func chartOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	files["Chart.yaml"] = "apiVersion: v2\nname: buckets\nversion: 0.1.0\n"
	files["values.yaml"] = "size: small\n"
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestHelmInstallsUpgradesAndUninstalls(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	chart := r.chart(t)
	runHelm(t, r, "install", r.name, chart, "--wait")
	r.waitUntilSynced(t, "small")
	if out := runHelm(t, r, "status", r.name); !strings.Contains(out, "STATUS: deployed") {
		t.Errorf("helm status says:\n%s", out)
	}
	runHelm(t, r, "upgrade", r.name, chart, "--wait", "--set", "size=large")
	r.waitUntilSynced(t, "large")
	runHelm(t, r, "rollback", r.name, "1", "--wait")
	r.waitUntilSynced(t, "small")
	runHelm(t, r, "uninstall", r.name, "--wait")
	for _, left := range []string{"compositecontrollers", "buckets." + r.group} {
		if out := env.Kubectl(t, "get", left, "--all-namespaces", "--output=name"); strings.Contains(out, r.name) {
			t.Errorf("helm uninstall --wait has left %s", out)
		}
	}
	if err := r.checkFinalized(t); err != nil {
		t.Error(err)
	}
}

func TestHelmReportsAControllerThatCannotRun(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	began := time.Now()
	broken := chartOf(t, map[string]string{"templates/controller.yaml": r.broken()})
	_, err := tryHelm(t, r, "install", r.name, broken, "--wait")
	if err == nil || !strings.Contains(err.Error(), "pails") || time.Since(began) > waitsFor/2 {
		t.Errorf("after %s, Helm says: %v", time.Since(began), err)
	}
}

// An upgrade of a controller waits until the server has looked at the new spec.
func TestHelmReportsAnUpgradeThatCannotRun(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	runHelm(t, r, "install", r.name, r.chart(t), "--wait")
	broken := chartOf(t, map[string]string{"templates/controller.yaml": r.broken(), "crds/buckets.yaml": r.definition()})
	_, err := tryHelm(t, r, "upgrade", r.name, broken, "--wait")
	if err == nil || !strings.Contains(err.Error(), "pails") {
		t.Errorf("Helm says: %v", err)
	}
}

// The controllers are a release of their own, and the parents another one, which is uninstalled first.
func TestHelmUninstallsParentsAndThenControllers(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	controllers := map[string]string{"templates/controller.yaml": r.controller(), "crds/buckets.yaml": r.definition()}
	runHelm(t, r, "install", "controllers", chartOf(t, controllers), "--wait")
	parents := map[string]string{}
	for _, name := range r.parents {
		parents["templates/"+name+".yaml"] = r.parent(name, "{{ .Values.size }}")
	}
	runHelm(t, r, "install", "parents", chartOf(t, parents), "--wait")
	r.waitUntilSynced(t, "small")
	runHelm(t, r, "uninstall", "parents")
	runHelm(t, r, "uninstall", "controllers")
	r.waitUntilGone(t)
	if err := r.checkFinalized(t); err != nil {
		t.Error(err)
	}
}

// Helm 4 applies on the server: what others have set stays, and a field that the chart sets is in conflict.
func TestHelmKeepsWhatOthersHaveSet(t *testing.T) {
	t.Parallel()
	r := newRelease(t)
	chart := r.chart(t)
	runHelm(t, r, "install", r.name, chart, "--wait")
	controller := harness.Composite(r.name)
	env.PatchController(t, controller, harness.Object{"spec": harness.Object{"resyncPeriodSeconds": 60}})
	runHelm(t, r, "upgrade", r.name, chart, "--wait", "--set", "size=large")
	if got := env.Kubectl(t, "get", "cc", r.name, "--output=jsonpath={.spec.resyncPeriodSeconds}"); got != "60" {
		t.Errorf("after an upgrade, resyncPeriodSeconds is %s", got)
	}
	env.PatchController(t, controller, harness.Object{"spec": harness.Object{"generateSelector": false}})
	_, err := tryHelm(t, r, "upgrade", r.name, chart)
	if err == nil || !strings.Contains(err.Error(), "generateSelector") {
		t.Errorf("the conflict is %v", err)
	}
	runHelm(t, r, "upgrade", r.name, chart, "--force-conflicts", "--wait")
}
