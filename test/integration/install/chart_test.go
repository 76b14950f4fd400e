// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// choice is one way to install the server, as an overlay with components and as values of the chart.
type choice struct {
	overlay    string
	components []string
	values     []string
}

var choices = map[string]choice{
	"embedded etcd":      {overlay: "embedded-etcd"},
	"external etcd":      {overlay: "external-etcd", values: []string{"etcd.servers={https://etcd-0:2379,https://etcd-1:2379}"}},
	"cert-manager":       {overlay: "cert-manager", values: []string{"certManager.enabled=true"}},
	"tenants":            {overlay: "tenants", values: []string{"tenants.enabled=true"}},
	"one Pod at a time":  {overlay: "embedded-etcd", components: []string{"read-write-once-pod"}, values: []string{"persistence.accessModes={ReadWriteOncePod}"}},
	"snapshots":          {overlay: "embedded-etcd", components: []string{"snapshots"}, values: []string{"snapshots.enabled=true"}},
	"migration":          {overlay: "migration", values: []string{"migration.enabled=true"}},
	"all, migrating":     {overlay: "external-etcd", components: []string{"cert-manager", "tenants", "migration"}, values: []string{"etcd.servers={https://etcd:2379}", "certManager.enabled=true", "tenants.enabled=true", "migration.enabled=true"}},
	"all, external etcd": {overlay: "external-etcd", components: []string{"cert-manager", "tenants"}, values: []string{"etcd.servers={https://etcd:2379}", "certManager.enabled=true", "tenants.enabled=true"}},
	"all, embedded etcd": {overlay: "embedded-etcd", components: []string{"cert-manager", "tenants", "read-write-once-pod", "snapshots"}, values: []string{"certManager.enabled=true", "tenants.enabled=true", "persistence.accessModes={ReadWriteOncePod}", "snapshots.enabled=true"}},
}

func TestTheChartMakesTheObjectsOfTheManifests(t *testing.T) {
	for name, choice := range choices {
		t.Run(name, func(t *testing.T) {
			manifests, chart := objects(t, kustomize(t, choice)), objects(t, template(t, choice.values...))
			for _, difference := range differences {
				difference.level(manifests)
				difference.level(chart)
			}
			compare(t, manifests, chart)
		})
	}
}

// differences are all that may be different between the manifests and the chart.
var differences = []struct {
	reason string
	level  func(map[string]*unstructured.Unstructured)
}{
	{"charts have labels by a convention of Helm", func(all map[string]*unstructured.Unstructured) {
		for _, object := range all {
			labels := object.GetLabels()
			maps.DeleteFunc(labels, func(name, _ string) bool {
				return name == "helm.sh/chart" || strings.HasPrefix(name, "app.kubernetes.io/")
			})
			if len(labels) == 0 {
				labels = nil
			}
			object.SetLabels(labels)
		}
	}},
	{"by the same convention, the name of the release selects the Pods", func(all map[string]*unstructured.Unstructured) {
		for _, object := range all {
			eachMap(object.Object, func(m map[string]any) { delete(m, "app.kubernetes.io/instance") })
		}
	}},
	{"the addresses of etcd are values of the chart, and a ConfigMap of the cluster otherwise", func(all map[string]*unstructured.Unstructured) {
		for _, object := range all {
			eachMap(object.Object, func(m map[string]any) {
				if m["name"] == "ETCD_SERVERS" {
					delete(m, "value")
					delete(m, "valueFrom")
				}
			})
		}
	}},
}

// compare fails the test for each object that is different.
func compare(t *testing.T, want, got map[string]*unstructured.Unstructured) {
	t.Helper()
	names := slices.Collect(maps.Keys(want))
	names = slices.AppendSeq(names, maps.Keys(got))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s is different (-want +got):\n%s", name, diff)
		}
	}
}

// eachMap calls do with all maps in value.
func eachMap(value any, do func(map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		do(value)
		for _, field := range value {
			eachMap(field, do)
		}
	case []any:
		for _, item := range value {
			eachMap(item, do)
		}
	}
}

func TestEachOverlayAndComponentIsAChoice(t *testing.T) {
	var chosen []string
	for _, choice := range choices {
		chosen = append(chosen, filepath.Join("overlays", choice.overlay))
		for _, component := range choice.components {
			chosen = append(chosen, filepath.Join("components", component))
		}
	}
	for _, folder := range []string{"overlays", "components"} {
		all, err := os.ReadDir(deploy(folder))
		if err != nil || len(all) == 0 {
			t.Fatalf("%s has nothing: %v", folder, err)
		}
		for _, entry := range all {
			if path := filepath.Join(folder, entry.Name()); !slices.Contains(chosen, path) {
				t.Errorf("no test applies %s: add a choice", path)
			}
		}
	}
}

// The choices with everything have each overlay and component, and the objects of the others.
func choicesWithAll() map[string]choice {
	all := maps.Clone(choices)
	maps.DeleteFunc(all, func(name string, _ choice) bool { return !strings.HasPrefix(name, "all, ") })
	return all
}

func TestTheHostAcceptsEachChoice(t *testing.T) {
	prepare(t)
	for name, choice := range choicesWithAll() {
		t.Run(name+", kustomize", func(t *testing.T) { strictly(t, kustomize(t, choice), "--dry-run=server") })
		t.Run(name+", Helm", func(t *testing.T) {
			strictly(t, template(t, choice.values...), "--dry-run=server")
		})
	}
}

// With other names, everything that refers to one of the objects refers to the other name.
func TestTheChartCanHaveOtherNames(t *testing.T) {
	for name, choice := range choicesWithAll() {
		t.Run(name, func(t *testing.T) {
			others := template(t, append([]string{"fullnameOverride=another-name", "namespaceOverride=another-place"}, choice.values...)...)
			for line := range strings.Lines(others) {
				if formerName.MatchString(line) && !slices.Contains(notNames, strings.TrimSpace(line)) {
					t.Errorf("this is not renamed: %s", line)
				}
			}

			renamed := strings.NewReplacer("another-name", "metacontroller-apiserver", "another-place", "metacontroller").Replace(others)
			for _, flag := range []string{"service-name=metacontroller-apiserver", "service-namespace=metacontroller"} {
				line := "            - --" + flag + "\n"
				if strings.Count(renamed, line) != 1 {
					t.Errorf("the server is not told --%s", flag)
				}
				renamed = strings.Replace(renamed, line, "", 1)
			}
			compare(t, objects(t, template(t, choice.values...)), objects(t, renamed))
		})
	}
}

var (
	formerName = regexp.MustCompile(`metacontroller-apiserver|namespace: metacontroller\b|metacontroller\.svc`)
	// notNames are lines with something of the name that is no object of the chart.
	notNames = []string{
		`- name: metacontroller-apiserver`, // the container
		`image: "metacontroller/metacontroller-apiserver:latest"`,
		`secretName: metacontroller-apiserver-etcd`, // a value of its own
	}
)

func TestTheChartRefusesValues(t *testing.T) {
	for name, test := range map[string]struct{ value, want string }{
		"a misspelled one":                 {"imge.tag=v1", "'imge' not allowed"},
		"replicas without an etcd of them": {"replicas=2", "set etcd.servers"},
		"snapshots of another etcd":        {"snapshots.enabled=true,etcd.servers={https://etcd:2379}", "back up that etcd with etcdctl"},
		"no account":                       {"serviceAccount.create=false", "set serviceAccount.name"},
		"the log of Metacontroller":        {"zap.logLevel=4", "set commandArgs: [-v=4"},
		"the program of Metacontroller":    {"command=/usr/bin/metacontroller", "the image has one program"},
		"the probes of Metacontroller":     {"probes.port=8081", "the port of the API"},
		"the Service of Metacontroller":    {"service.enabled=true", "serves /metrics, too"},
		"an interval of Metacontroller":    {"discoveryInterval=20s", "--discovery-interval"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm(t.Context(), "template", "metacontroller", chart, "--set", test.value)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestTheChartTakesValuesOfMetacontroller(t *testing.T) {
	prepare(t)
	out, err := helm(t.Context(), "template", "metacontroller", chart, "--namespace=metacontroller", "--values", filepath.Join("testdata", "metacontroller-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	strictly(t, out, "--dry-run=server")
	for _, want := range []string{"image: \"registry.example.com/mirror/server:v9\"", "- \"--workers=7\"", "name: the-account", "priorityClassName: system-node-critical"} {
		if !strings.Contains(out, want) {
			t.Errorf("the chart does not use a value: there is no %s", want)
		}
	}
}

var chart = filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "charts", "metacontroller")

// template returns what the chart renders.
func template(t *testing.T, values ...string) string {
	t.Helper()
	args := []string{"template", "metacontroller", chart, "--namespace=metacontroller"}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	out, err := helm(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// helmProgram is the path of helm, which is built once.
var helmProgram = sync.OnceValues(func() (string, error) {
	command := exec.Command("go", "tool", "-modfile=hack/tools/helm/go.mod", "-n", "helm")
	command.Dir = hostcluster.RepositoryRoot()
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("build helm: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// helm returns what helm prints. Its standard error is in the error.
func helm(ctx context.Context, args ...string) (string, error) {
	program, err := helmProgram()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+env.Host.AdminKubeconfig())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// kustomize returns what a user who makes the choice applies.
func kustomize(t *testing.T, choice choice) string {
	t.Helper()
	folder := t.TempDir()
	relative, err := filepath.Rel(folder, deploy("."))
	if err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprintf("resources: [%s]\ncomponents:\n", filepath.Join(relative, "overlays", choice.overlay))
	for _, component := range choice.components {
		own += fmt.Sprintf("  - %s\n", filepath.Join(relative, "components", component))
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	return env.Kubectl(t, "kustomize", folder)
}

// objects are the objects of a manifest by kind, namespace and name.
func objects(t *testing.T, manifest string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		case len(object.Object) == 0:
			continue
		}
		key := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		if _, twice := all[key]; twice {
			t.Fatalf("%s is there twice", key)
		}
		all[key] = object
	}
}
