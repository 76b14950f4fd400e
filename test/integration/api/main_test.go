// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api tests the API as users see it: with kubectl, through the aggregation layer of the
// host.
package api

import (
	"fmt"
	"os"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

var env *harness.Env

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, func(e *harness.Env) { env = e }))
}

// manifest returns a CompositeController whose parent type is not installed, so that no controller
// runs. More lines of the spec can be given, indented by two spaces.
func manifest(name string, moreSpec ...string) string {
	text := fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata:
  name: %s
  labels: {test: %s}
spec:
  generateSelector: true
  parentResource:
    apiVersion: nothing.example.com/v1
    resource: nothings
  childResources:
    - apiVersion: v1
      resource: pods
  hooks:
    sync:
      webhook:
        url: http://127.0.0.1:1/sync
`, name, name)
	for _, line := range moreSpec {
		text += line + "\n"
	}
	return text
}

// created applies a manifest under a name of its own and returns the name.
func created(t *testing.T, moreSpec ...string) string {
	t.Helper()
	name := harness.Name("test")
	env.Apply(t, manifest(name, moreSpec...))
	return name
}
