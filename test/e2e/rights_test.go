// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// rights shows that users with the roles of the cluster may read controllers, that none of these roles lets anybody
// do more, and that nobody else may do anything.
func rights(t *testing.T) {
	run(t, "kubectl create namespace rights")
	const (
		controllers = "compositecontrollers.metacontroller.k8s.io"
		decorators  = "decoratorcontrollers.metacontroller.k8s.io"
		revisions   = "controllerrevisions.metacontroller.k8s.io"
	)
	isReader := map[string]bool{"view": true, "edit": true, "admin": true, "nobody": false}
	for role, mayRead := range isReader {
		if mayRead {
			run(t, "kubectl create clusterrolebinding rights-%[1]s --clusterrole=%[1]s --user=rights-%[1]s", role)
		}
		for _, resource := range []string{controllers, decorators, revisions} {
			for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "restore", "escalate"} {
				want := "no"
				if mayRead && resource != revisions && (verb == "get" || verb == "list" || verb == "watch") {
					want = "yes"
				}
				may := strings.TrimSpace(run(t, "kubectl auth can-i %s %s -n rights --as=rights-%s 2>/dev/null || true", verb, resource, role))
				if may != want {
					t.Errorf("whoever has the role %s may %s %s: %s, want %s", role, verb, resource, may, want)
				}
			}
		}
		as := "kubectl --as=rights-" + role
		if mayRead {
			run(t, "%s get compositecontrollers,decoratorcontrollers", as)
		} else {
			forbidden(t, as+" get compositecontrollers")
		}
		forbidden(t, as+" get "+revisions+" -n rights")
		forbidden(t, as+" create -f "+example("immortalcontainer")+"/controller.yaml")
		forbidden(t, as+" delete compositecontrollers --all")
	}
	author(t)
	for role, isBound := range isReader {
		if isBound {
			run(t, "kubectl delete clusterrolebinding rights-%s", role)
		}
	}
	run(t, "kubectl delete namespace rights --wait=false")
}

// author shows that whoever may create controllers, and nothing else, can only create one that acts as a service account
// that the author may impersonate.
func author(t *testing.T) {
	run(t, "kubectl -n rights create serviceaccount own")
	run(t, "kubectl create clusterrole rights-author --verb=get,create,delete --resource=%s", "compositecontrollers.metacontroller.k8s.io")
	run(t, "kubectl create clusterrolebinding rights-author --clusterrole=rights-author --user=rights-author")
	run(t, "kubectl -n rights create role impersonator --verb=impersonate --resource=serviceaccounts --resource-name=own")
	run(t, "kubectl -n rights create rolebinding impersonator --role=impersonator --user=rights-author")
	create := func(serviceAccount string) string {
		return fmt.Sprintf(`kubectl --as=rights-author create -f - <<'EOF'
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: rights-author}
spec:
  namespaces: [rights]
  %s
  parentResource: {apiVersion: apps/v1, resource: deployments}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {version: v2, webhook: {url: "http://hook.rights/sync"}}}
EOF`, serviceAccount)
	}
	forbidden(t, create(""))
	forbidden(t, create("serviceAccount: {namespace: rights, name: another}"))
	forbidden(t, create("serviceAccount: {namespace: kube-system, name: own}"))
	shell(t, root(), create("serviceAccount: {namespace: rights, name: own}"))
	run(t, "kubectl --as=rights-author delete compositecontroller rights-author")
	run(t, "kubectl delete clusterrolebinding/rights-author clusterrole/rights-author")
}

// forbidden runs a command line that the rights of its user do not allow.
func forbidden(t *testing.T, line string) {
	t.Helper()
	if out, err := tryShell(t.Context(), root(), line); err == nil || !strings.Contains(strings.ToLower(err.Error()), "forbidden") {
		t.Errorf("%s should be forbidden, but: %s %v", line, out, err)
	}
}
