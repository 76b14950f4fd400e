// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	client "github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/typed/metacontroller/v1alpha1"
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
	runner := run(t, "kubectl get cc immortalcontainer -o jsonpath={.status.runner.replica}")
	load := startLoad(t)
	for range 2 {
		run(t, "kubectl -n metacontroller rollout restart deployment metacontroller-apiserver")
		run(t, "kubectl -n metacontroller rollout status deployment metacontroller-apiserver --timeout=180s")
	}
	load.end()
	until(t, "True", "kubectl get cc immortalcontainer -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'")
	if now := run(t, "kubectl get cc immortalcontainer -o jsonpath={.status.runner.replica}"); now == runner || now == "" {
		t.Errorf("the controller ran in %q, and runs in %q after all Pods were restarted", runner, now)
	}
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

// load is clients that use the API all the time. None of their requests may fail.
type load struct {
	*testing.T
	cancel  context.CancelFunc
	running sync.WaitGroup
	done    atomic.Int64
	// seen is how many events came from watches.
	seen atomic.Int64
}

func startLoad(t *testing.T) *load {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("E2E_KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	set, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	revisions := set.MetacontrollerV1alpha1().ControllerRevisions("default")
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{T: t, cancel: cancel}
	for i := range 4 {
		l.running.Go(func() { l.repeat(ctx, func() error { return use(ctx, revisions, fmt.Sprint("load-", i)) }) })
	}
	l.running.Go(func() { l.repeat(ctx, func() error { return l.watch(ctx, revisions) }) })
	return l
}

// repeat does something again and again until the load ends, and fails the test for each error.
func (l *load) repeat(ctx context.Context, do func() error) {
	for ctx.Err() == nil {
		if err := do(); err != nil && ctx.Err() == nil {
			l.Errorf("%s: %v", time.Now().Format(time.TimeOnly), err)
		}
		l.done.Add(1)
	}
}

// use creates an object, and reads, lists, changes and deletes it.
func use(ctx context.Context, revisions client.ControllerRevisionInterface, name string) error {
	revision := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name}, ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
	}
	if _, err := revisions.Create(ctx, revision, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create: %w", err)
	}
	if _, err := revisions.Get(ctx, name, metav1.GetOptions{}); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	if _, err := revisions.List(ctx, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if _, err := revisions.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if err := revisions.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// watch watches until the server ends the watch, which it does when it stops.
func (l *load) watch(ctx context.Context, revisions client.ControllerRevisionInterface) error {
	events, err := revisions.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		if err := apierrors.FromObject(event.Object); event.Type == "ERROR" {
			return fmt.Errorf("watch: %w", err)
		}
		l.seen.Add(1)
	}
	return nil
}

// end ends the load.
func (l *load) end() {
	l.Helper()
	l.cancel()
	l.running.Wait()
	l.Logf("%d rounds of requests, %d events of watches", l.done.Load(), l.seen.Load())
	if l.done.Load() == 0 || l.seen.Load() == 0 {
		l.Error("nothing was asked")
	}
}
