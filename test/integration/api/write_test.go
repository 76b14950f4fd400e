// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// contains fails the test unless the output has the text.
func contains(t *testing.T, output, text string) {
	t.Helper()
	if !strings.Contains(output, text) {
		t.Errorf("no %q in:\n%s", text, output)
	}
}

// get reads a CompositeController.
func get(t *testing.T, name string) *v1alpha1.CompositeController {
	t.Helper()
	controller, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return controller
}

// kubectl finds out what the user has removed since the last time that it applied.
func TestApply(t *testing.T) {
	name := harness.Name("test")
	env.Apply(t, manifest(name))
	env.Apply(t, manifest(name))
	if generation := get(t, name).Generation; generation != 1 {
		t.Errorf("the generation is %d after applying the same twice, want 1", generation)
	}
	env.Apply(t, manifest(name, "  resyncPeriodSeconds: 7"))
	controller := get(t, name)
	if controller.Generation != 2 || controller.Spec.ResyncPeriodSeconds == nil || *controller.Spec.ResyncPeriodSeconds != 7 {
		t.Errorf("generation %d, resync %v, want 2 and 7", controller.Generation, controller.Spec.ResyncPeriodSeconds)
	}
	env.Apply(t, manifest(name))
	if resync := get(t, name).Spec.ResyncPeriodSeconds; resync != nil {
		t.Errorf("resync is %d after its line was taken out, want none", *resync)
	}
}

func TestEdit(t *testing.T) {
	name := created(t, "  resyncPeriodSeconds: 60")
	cmd := env.Host.KubectlCommand(t.Context(), "edit", "cc", name)
	cmd.Env = append(cmd.Env, "KUBE_EDITOR=sed -i.bak s/resyncPeriodSeconds:.60/resyncPeriodSeconds:\\ 90/", "TMPDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl edit: %v\n%s", err, out)
	}
	if resync := get(t, name).Spec.ResyncPeriodSeconds; resync == nil || *resync != 90 {
		t.Errorf("resync is %v after the edit, want 90", resync)
	}
}

func TestAManifestOfAnOldMetacontrollerIsStored(t *testing.T) {
	published(t)
	name := harness.Name("test")
	const clientConfig = "  clientConfig: {service: {name: hooks, namespace: tools, caBundle: '...'}}"
	old := strings.Replace(manifest(name, clientConfig, "  resyncPeriodSeconds: 2"),
		"  childResources:\n    - apiVersion: v1\n      resource: pods\n", "  childResources: []\n", 1)
	out := env.Apply(t, old, "--validate=warn")
	contains(t, out, `Warning: unknown field "spec.clientConfig"`)
	stored := env.Kubectl(t, "get", "cc", name, "-o", "jsonpath={.spec.childResources} {.spec.resyncPeriodSeconds}")
	if stored != "[] 2" {
		t.Errorf("childResources and resyncPeriodSeconds are %s", stored)
	}
}
