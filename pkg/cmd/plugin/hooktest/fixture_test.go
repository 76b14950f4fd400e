// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/cli-runtime/pkg/resource"

	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/localhook"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
)

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: websites, kind: Website}
  versions:
  - name: v1
    served: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
`

// composite is a controller for Websites; its method of updates and its engine can be replaced.
const composite = crd + `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: websites}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: websites}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  hooks:
    sync: {version: v2, webhook: {url: "http://hooks/sync"}}
`

// selecting is a controller whose parents select their children.
const selecting = crd + `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: websites}
spec:
  parentResource: {apiVersion: example.com/v1, resource: websites}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}
  hooks:
    sync: {version: v2, webhook: {url: "http://hooks/sync"}}
`

// decorator is a controller for Deployments with a label.
const decorator = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: labels}
spec:
  resources: [{apiVersion: apps/v1, resource: deployments, labelSelector: {matchLabels: {decorated: "yes"}}}]
  attachments: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks:
    sync: {version: v2, webhook: {url: "http://hooks/sync"}}
    finalize: {version: v2, webhook: {url: "http://hooks/finalize"}}
`

// folder writes files into a folder and returns its path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// answering is a hook that always answers the same.
func answering(t *testing.T, answer string) Hooks {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
	t.Cleanup(server.Close)
	hook, err := localhook.At(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return func(controller *lookup.Controller) reviews.Caller { return hook.Of(controller) }
}

// runOne runs the only case of a suite.
func runOne(t *testing.T, files map[string]string, answer string) *Result {
	t.Helper()
	suite, err := Load(folder(t, files), resource.FilenameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return suite.Run(t.Context(), suite.Cases[0], answering(t, answer))
}
