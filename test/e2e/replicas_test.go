// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/load"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// replicas installs the server with an etcd of the cluster, and restarts its Pods one after another while clients use
// it. The etcd has one member: how replicas live with several is tested in test/integration/replicas.
func replicas(t *testing.T) {
	dir := t.TempDir()
	writeCertificates(t, dir)
	run(t, "kubectl apply -f artifacts/deploy/base/namespace.yaml")
	shell(t, dir, "kubectl -n metacontroller create secret generic etcd-server --from-file=ca.crt=etcd-ca.crt --from-file=tls.crt=etcd-server.crt --from-file=tls.key=etcd-server.key")
	run(t, "kubectl apply -f test/e2e/testdata/etcd.yaml")
	run(t, "kubectl -n metacontroller wait --for=condition=Ready pod/etcd --timeout=60s")
	run(t, "kubectl -n metacontroller create configmap metacontroller-apiserver-etcd --from-literal=servers=https://etcd.metacontroller.svc:2379")
	shell(t, dir, "kubectl -n metacontroller create secret generic metacontroller-apiserver-etcd --from-file=ca.crt=etcd-ca.crt --from-file=tls.crt=etcd-client.crt --from-file=tls.key=etcd-client.key")
	run(t, "kubectl apply -k artifacts/deploy/overlays/external-etcd")
	run(t, "kubectl -n metacontroller rollout status deployment metacontroller-apiserver --timeout=120s")
	run(t, available)

	run(t, "kubectl apply -k %s", example("immortalcontainer"))
	until(t, "True", "kubectl get cc immortalcontainer -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'")
	const holder = "kubectl -n metacontroller get lease metacontroller-apiserver -o jsonpath={.spec.holderIdentity}"
	leader := run(t, holder)
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("E2E_KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	clients := load.Start(t, config)
	for range 2 {
		run(t, "kubectl -n metacontroller rollout restart deployment metacontroller-apiserver")
		run(t, "kubectl -n metacontroller rollout status deployment metacontroller-apiserver --timeout=180s")
	}
	clients.End()
	until(t, "True", "kubectl get cc immortalcontainer -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'")
	until(t, "another", `case "$(%s)" in %q) echo the same ;; "") echo none ;; *) echo another ;; esac`, holder, leader)
	run(t, "kubectl delete -k %s", example("immortalcontainer"))

	run(t, "kubectl delete apiservice v1alpha1.metacontroller.k8s.io")
	run(t, "kubectl delete -k artifacts/deploy/overlays/external-etcd --ignore-not-found --timeout=120s")
}

// writeCertificates writes those of etcd and of its client, as files with the names of docs/install.md.
func writeCertificates(t *testing.T, dir string) {
	t.Helper()
	authority, err := pki.NewAuthority("etcd")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := authority.Serving(net.IPv4(127, 0, 0, 1), "etcd.metacontroller.svc")
	if err != nil {
		t.Fatal(err)
	}
	client, err := authority.Client("metacontroller-apiserver")
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string]pki.KeyPair{"etcd-ca": authority.KeyPair, "etcd-server": serving, "etcd-client": client} {
		if err := pair.Write(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")); err != nil {
			t.Fatal(err)
		}
	}
}
