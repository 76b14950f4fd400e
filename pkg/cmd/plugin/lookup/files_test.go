// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRead(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "b.yaml", "---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n# nothing\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n")
	write(t, folder, "a.json", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"C","metadata":{"name":"c"}},{"apiVersion":"v1","kind":"D","metadata":{"name":"d"}}]}`)
	write(t, folder, "README.md", "no manifest")
	all, err := Read([]string{folder, "-"}, strings.NewReader("{apiVersion: v1, kind: E, metadata: {name: e}}"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range all {
		got = append(got, filepath.Base(one.Path)+" "+one.GetKind())
	}
	if diff := cmp.Diff([]string{"a.json C", "a.json D", "b.yaml A", "b.yaml B", "- E"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	for name, test := range map[string]struct{ path, want string }{
		"missing":       {filepath.Join(folder, "none.yaml"), "none.yaml"},
		"no YAML":       {write(t, folder, "a.yaml", "a: b: c"), "a.yaml"},
		"no kind":       {write(t, folder, "b.yaml", "apiVersion: v1"), "without apiVersion or kind"},
		"not an object": {write(t, folder, "c.yaml", "[1, 2]"), "c.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read([]string{test.path}, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestControllersInFiles(t *testing.T) {
	all, err := Read([]string{"-"}, strings.NewReader(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: websites}
spec:
  parentResource: {apiVersion: example.com/v1, resource: websites}
  hooks: {sync: {webhook: {url: "http://hooks/sync"}}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: labels}
spec:
  resources: [{apiVersion: apps/v1, resource: deployments}, {apiVersion: v1, resource: pods}]
  hooks: {finalize: {webhook: {url: "http://hooks/finalize"}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: ControllerRevision
metadata: {name: a}
`))
	if err != nil {
		t.Fatal(err)
	}
	var controllers []*Controller
	for i := range all {
		controller, err := all[i].Controller()
		if err != nil {
			t.Fatal(err)
		}
		if controller != nil {
			controllers = append(controllers, controller)
		}
	}
	if len(controllers) != 2 {
		t.Fatalf("there are %v", controllers)
	}
	websites, labels := controllers[0], controllers[1]
	if websites.String() != "CompositeController websites" || *websites.Webhook("sync").URL != "http://hooks/sync" || websites.Webhook("customize") != nil {
		t.Errorf("the controller is %+v", websites)
	}
	if want := `{"hooks":{"sync":{"webhook":{"url":"http://hooks/sync"}}},"parentResource":{"apiVersion":"example.com/v1","resource":"websites"}}`; string(websites.Candidate) != want {
		t.Errorf("the candidate is %s", websites.Candidate)
	}
	if labels.Webhook("sync") != nil || labels.Webhook("finalize") == nil || len(labels.ParentTypes()) != 2 {
		t.Errorf("the decorator is %+v", labels)
	}
}

func TestNamesOfControllers(t *testing.T) {
	for argument, want := range map[string]bool{
		"cc/a": true, "dec/a": true, "CompositeController/a": true, "decoratorcontrollers.metacontroller.k8s.io/a": true,
		"a": true, "website/a": false, "cc.example.com/a": false,
	} {
		if got := IsController(argument); got != want {
			t.Errorf("%q names a controller: %t", argument, got)
		}
	}
}
