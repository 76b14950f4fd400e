// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// InstallRights gives a cluster without a server the namespace and the rights of artifacts/deploy, and more files
// of it.
func (e *Env) InstallRights(t testing.TB, files ...string) {
	t.Helper()
	for _, file := range append([]string{"base/namespace.yaml", "base/rbac.yaml"}, files...) {
		e.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "deploy", file))
	}
}

// Register makes the APIService refer to a server on loopback. It has nothing about certificates: the server
// writes that.
func (e *Env) Register(t testing.TB, port int) {
	t.Helper()
	e.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %[3]s}
spec:
  group: metacontroller.k8s.io
  version: v1alpha1
  groupPriorityMinimum: 1000
  versionPriority: 100
  service: {name: %[1]s, namespace: %[2]s, port: %[4]d}
`, aggregation.ServiceName, aggregation.Namespace, aggregation.APIServiceName, port), "--server-side")
}
