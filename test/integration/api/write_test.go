// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"os"
	"strconv"
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

func TestApply(t *testing.T) {
	for name, flags := range map[string][]string{
		"client-side": nil,
		"server-side": {"--server-side"},
	} {
		t.Run(name, func(t *testing.T) {
			name := harness.Name("test")
			env.Apply(t, manifest(name), flags...)
			env.Apply(t, manifest(name), flags...)
			if generation := get(t, name).Generation; generation != 1 {
				t.Errorf("the generation is %d after applying the same twice, want 1", generation)
			}
			env.Apply(t, manifest(name, "  resyncPeriodSeconds: 7"), flags...)
			controller := get(t, name)
			if controller.Generation != 2 || controller.Spec.ResyncPeriodSeconds == nil || *controller.Spec.ResyncPeriodSeconds != 7 {
				t.Errorf("generation %d, resync %v, want 2 and 7", controller.Generation, controller.Spec.ResyncPeriodSeconds)
			}
			env.Apply(t, manifest(name), flags...)
			if resync := get(t, name).Spec.ResyncPeriodSeconds; resync != nil {
				t.Errorf("resync is %d after its line was taken out, want none", *resync)
			}
		})
	}
}

func TestServerSideApplyKnowsOwners(t *testing.T) {
	name := harness.Name("test")
	env.Apply(t, manifest(name, "  resyncPeriodSeconds: 1"), "--server-side", "--field-manager=a")

	cmd := env.Host.KubectlCommand(t.Context(), "apply", "--server-side", "--field-manager=b", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest(name, "  resyncPeriodSeconds: 2"))
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("another owner's field was overwritten: %s", out)
	}
	contains(t, string(out), `conflict with "a": .spec.resyncPeriodSeconds`)

	env.Apply(t, manifest(name, "  resyncPeriodSeconds: 2"), "--server-side", "--field-manager=b", "--force-conflicts")
	if resync := get(t, name).Spec.ResyncPeriodSeconds; resync == nil || *resync != 2 {
		t.Errorf("resync is %v after --force-conflicts, want 2", resync)
	}
}

func TestServerSideApplyOwnsNoStatusThroughTheMainResource(t *testing.T) {
	name := harness.Name("test")
	env.Apply(t, manifest(name)+"status: {observedGeneration: 77}\n", "--server-side", "--field-manager=a")
	for _, entry := range get(t, name).ManagedFields {
		if fields := entry.FieldsV1.GetRawString(); entry.Manager == "a" && strings.Contains(fields, "f:status") {
			t.Errorf("a owns the status: %s", fields)
		}
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

func TestPatch(t *testing.T) {
	for kind, patch := range map[string]string{
		"merge": `{"spec":{"resyncPeriodSeconds":9}}`,
		"json":  `[{"op":"add","path":"/spec/resyncPeriodSeconds","value":9}]`,
	} {
		t.Run(kind, func(t *testing.T) {
			name := created(t)
			env.Kubectl(t, "patch", "cc", name, "--type="+kind, "-p", patch)
			if resync := get(t, name).Spec.ResyncPeriodSeconds; resync == nil || *resync != 9 {
				t.Errorf("resync is %v, want 9", resync)
			}
		})
	}
}

func TestStatusAndSpecAreWrittenApart(t *testing.T) {
	name := created(t)
	const patch = `{"spec":{"resyncPeriodSeconds":9},"status":{"observedGeneration":77}}`
	for subresource, want := range map[string]struct {
		resync, observed, generation string
	}{
		"status": {resync: "", observed: "77", generation: "1"},
		"":       {resync: "9", observed: "not 77", generation: "2"},
	} {
		t.Run("patch --subresource="+subresource, func(t *testing.T) {
			name := name + "-" + subresource + "x"
			env.Apply(t, manifest(name))
			// The answer of the write is checked, since our own controller writes the status too.
			out := env.Kubectl(t, "patch", "cc", name, "--type=merge", "--subresource="+subresource, "-p", patch, "-o", "json")
			var answer v1alpha1.CompositeController
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				t.Fatal(err)
			}
			observed := strconv.FormatInt(answer.Status.ObservedGeneration, 10)
			if observed != "77" {
				observed = "not 77"
			}
			resync := ""
			if answer.Spec.ResyncPeriodSeconds != nil {
				resync = strconv.Itoa(int(*answer.Spec.ResyncPeriodSeconds))
			}
			if resync != want.resync || observed != want.observed || strconv.FormatInt(answer.Generation, 10) != want.generation {
				t.Errorf("resync %q, observedGeneration %s, generation %d; want %+v", resync, observed, answer.Generation, want)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	name := created(t)
	env.Kubectl(t, "delete", "cc", name, "--wait", "--timeout=120s")
	contains(t, env.KubectlError(t, "get", "cc", name), "NotFound")
}

func TestDeleteByLabel(t *testing.T) {
	name, other := created(t), created(t)
	collection := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	err := collection.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "test=" + name})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, env.KubectlError(t, "get", "cc", name), "NotFound")
	get(t, other)
}

func TestFieldValidation(t *testing.T) {
	published(t)
	t.Run("strict refuses", func(t *testing.T) {
		file := t.TempDir() + "/cc.yaml"
		if err := os.WriteFile(file, []byte(manifest(harness.Name("test"), "  nonsense: true")), 0o600); err != nil {
			t.Fatal(err)
		}
		contains(t, env.KubectlError(t, "apply", "--validate=strict", "-f", file), `strict decoding error: unknown field "spec.nonsense"`)
	})
	t.Run("warn warns", func(t *testing.T) {
		out := env.Apply(t, manifest(harness.Name("test"), "  nonsense: true"), "--validate=warn")
		contains(t, out, `Warning: unknown field "spec.nonsense"`)
		contains(t, out, "created")
	})
	t.Run("a manifest of an old Metacontroller", func(t *testing.T) {
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
	})
	t.Run("ignore is silent", func(t *testing.T) {
		name := harness.Name("test")
		if out := env.Apply(t, manifest(name, "  nonsense: true"), "--validate=ignore"); strings.Contains(out, "nonsense") {
			t.Errorf("kubectl says:\n%s", out)
		}
		if strings.Contains(env.Kubectl(t, "get", "cc", name, "-o", "jsonpath={.spec}"), "nonsense") {
			t.Error("the unknown field was stored")
		}
	})
}

func TestInvalidSpecsAreRefusedWithTheFieldPath(t *testing.T) {
	published(t)
	for name, test := range map[string]struct{ from, to, want string }{
		"no resource":           {"resource: nothings", `resource: ""`, "spec.parentResource.resource"},
		"an unknown method":     {"resource: pods", "resource: pods\n      updateStrategy: {method: Sometimes}", "spec.childResources[0].updateStrategy.method"},
		"a URL that is none":    {"http://127.0.0.1:1/sync", "ftp://x", "spec.hooks.sync.webhook.url"},
		"a duration of no unit": {"url: http", "timeout: 10 seconds\n        url: http", "spec.hooks.sync.webhook.timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			text := manifest(harness.Name("test"))
			invalid := strings.Replace(text, test.from, test.to, 1)
			if invalid == text {
				t.Fatalf("nothing to replace by %q", test.to)
			}
			file := t.TempDir() + "/cc.yaml"
			if err := os.WriteFile(file, []byte(invalid), 0o600); err != nil {
				t.Fatal(err)
			}
			contains(t, env.KubectlError(t, "apply", "-f", file), test.want)
		})
	}
}

func TestServerSideDryRunStoresNothing(t *testing.T) {
	name := harness.Name("test")
	contains(t, env.Apply(t, manifest(name), "--dry-run=server"), "created (server dry run)")
	contains(t, env.KubectlError(t, "get", "cc", name), "NotFound")

	env.Apply(t, manifest(name))
	env.Kubectl(t, "patch", "cc", name, "--type=merge", "--dry-run=server", "-p", `{"spec":{"resyncPeriodSeconds":9}}`)
	env.Kubectl(t, "delete", "cc", name, "--dry-run=server")
	if resync := get(t, name).Spec.ResyncPeriodSeconds; resync != nil {
		t.Errorf("resync is %d after a dry run, want none", *resync)
	}
}

func TestListsComeInPages(t *testing.T) {
	label := harness.Name("page")
	for range 5 {
		env.Kubectl(t, "label", "cc", created(t), "page="+label)
	}
	client := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	options := metav1.ListOptions{LabelSelector: "page=" + label, Limit: 2}
	var sizes []int
	for {
		page, err := client.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Items))
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	if len(sizes) != 3 || sizes[0] != 2 || sizes[1] != 2 || sizes[2] != 1 {
		t.Errorf("pages have sizes %v, want 2, 2 and 1", sizes)
	}
	names := env.Kubectl(t, "get", "cc", "-l", "page="+label, "--chunk-size=2", "-o", "name")
	if got := strings.Count(names, "\n"); got != 5 {
		t.Errorf("kubectl shows %d objects, want 5:\n%s", got, names)
	}
}
