// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/resource"
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
	list := `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"C","metadata":{"name":"c"}},{"apiVersion":"v1","kind":"D","metadata":{"name":"d"}}]}`
	write(t, folder, "b.yaml", "---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n# nothing\n---\napiVersion: v1\nkind: B\nmetadata: {name: b}\n")
	write(t, folder, "a.json", list)
	write(t, folder, "README.md", "no manifest")
	if err := os.Mkdir(filepath.Join(folder, "below"), 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, folder, "below/e.yaml", "{apiVersion: v1, kind: E, metadata: {name: e}}")
	kustomization := t.TempDir()
	write(t, kustomization, "kustomization.yaml", "namePrefix: my-\nresources: [f.yaml]\n")
	write(t, kustomization, "f.yaml", "{apiVersion: v1, kind: F, metadata: {name: f}}")
	served := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(served.Close)
	for name, test := range map[string]struct {
		files resource.FilenameOptions
		want  []string
	}{
		"nothing": {},
		"a file": {
			resource.FilenameOptions{Filenames: []string{folder + "/b.yaml"}},
			[]string{"b.yaml A a", "b.yaml B b"},
		},
		"a folder": {
			resource.FilenameOptions{Filenames: []string{folder}},
			[]string{"a.json C c", "a.json D d", "b.yaml A a", "b.yaml B b"},
		},
		"a tree of folders": {
			resource.FilenameOptions{Filenames: []string{folder}, Recursive: true},
			[]string{"a.json C c", "a.json D d", "b.yaml A a", "b.yaml B b", "e.yaml E e"},
		},
		"a URL": {
			resource.FilenameOptions{Filenames: []string{served.URL + "/a.json"}},
			[]string{"a.json C c", "a.json D d"},
		},
		"a kustomization": {
			resource.FilenameOptions{Kustomize: kustomization},
			[]string{filepath.Base(kustomization) + " F my-f"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Read(test.files)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range all {
				got = append(got, filepath.Base(one.Path)+" "+one.GetKind()+" "+one.GetName())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	served := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(served.Close)
	for name, test := range map[string]struct{ path, want string }{
		"missing":        {filepath.Join(folder, "none.yaml"), "none.yaml"},
		"missing at URL": {served.URL + "/none.yaml", "404"},
		"no YAML":        {write(t, folder, "a.yaml", "a: b: c"), "a.yaml"},
		"no kind":        {write(t, folder, "b.yaml", "apiVersion: v1"), "'Kind' is missing"},
		"not an object":  {write(t, folder, "c.yaml", "[1, 2]"), "c.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(resource.FilenameOptions{Filenames: []string{test.path}})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestControllersInFiles(t *testing.T) {
	path := write(t, t.TempDir(), "all.yaml", `
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
`)
	all, err := Read(resource.FilenameOptions{Filenames: []string{path}})
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
