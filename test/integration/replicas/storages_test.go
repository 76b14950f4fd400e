// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

// logs returns an error unless a replica has logged all of some texts.
func (r *replica) logs(texts ...string) error {
	log, err := os.ReadFile(r.LogPath())
	if err != nil {
		return err
	}
	for _, text := range texts {
		if !strings.Contains(string(log), text) {
			return fmt.Errorf("%s has not logged %q", r.name, text)
		}
	}
	return nil
}

// A StatefulSet that is scaled to 2 has two storages.
func TestAServerWithAnotherStorageRunsNoControllers(t *testing.T) {
	env.InstallRights(t)
	f := &fleet{TB: t, leaseName: harness.Name("lease"), from: env.AuditEnd(t)}
	first := f.start()
	f.serve()
	f.run(t, 1, 1)

	second := f.start()
	f.eventually(func(context.Context) error {
		return second.logs("this server runs no controllers", "Lease metacontroller/"+f.leaseName, "delete that Lease")
	})
	if err := f.ready(t.Context(), second); err == nil {
		t.Error("the server with another storage is ready")
	}

	f.terminate(first)
	<-first.Done()
	<-time.After(5 * time.Second) // it would be elected by then
	if leads, err := f.leader(t.Context(), f.leaseName); err != nil || leads != nil {
		t.Errorf("while the first server is away, %v leads, %v", leads, err)
	}
	again := f.startIn(first.dir)
	env.Register(t, again.port)
	f.edit("1")
	f.waitForEdit("1")
	f.expectWriters(first, again)

	f.kill(again)
	<-again.Done()
	began := time.Now()
	killed := f.startIn(first.dir) // nobody else can have the storage, so it need not wait until the Lease expires
	env.Register(t, killed.port)
	f.edit("2")
	f.waitForEdit("2")
	t.Logf("a server that was killed ran the controllers %s after it was started again", time.Since(began))

	f.terminate(killed)
	<-killed.Done()
	err := env.Kube.CoordinationV1().Leases(aggregation.Namespace).Delete(t.Context(), f.leaseName, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if leads, _ := f.waitForLeader(); leads != second {
		t.Errorf("without the Lease, %s leads", leads.name)
	}
	f.eventually(func(ctx context.Context) error { return f.ready(ctx, second) })
}

func TestAServerRefusesTheStorageOfAnotherCluster(t *testing.T) {
	env.InstallRights(t)
	f := &fleet{TB: t, etcd: startEtcd(t), leaseName: harness.Name("lease")}
	config, err := f.etcd.tls()
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: f.etcd.clients, TLS: config, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	key := f.etcd.prefix() + "/storage"
	f.eventually(func(ctx context.Context) error {
		_, err := client.Put(ctx, key, `{"id":"a","cluster":"another"}`)
		return err
	})
	refused := f.start()
	refused.isEnding = true
	select {
	case <-refused.Done():
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
	if err := refused.logs("the storage belongs to another cluster", key, "--etcd-prefix"); err != nil {
		t.Error(err)
	}
}

// Instances with selectors and Leases of their own share the work. A controller passes to another one with its
// labels.
func TestTwoInstancesRunDifferentControllers(t *testing.T) {
	f := newFleet(t, 0)
	one := f.start("--target-label-selector=!team", "--leader-election-id="+f.leaseName+"-one")
	two := f.start("--target-label-selector=team=b", "--leader-election-id="+f.leaseName+"-two")
	f.serve()
	f.run(t, 2, 1)
	env.Kubectl(t, "label", "compositecontroller", f.fixtures[1].Controller.Name, "team=b")
	f.eventually(func(context.Context) error {
		return two.logs(`"Started controller" controller="` + f.fixtures[1].Controller.Name)
	})
	f.edit("1")
	f.waitForEdit("1")
	for name, want := range map[string]*replica{"-one": one, "-two": two} {
		if leads, err := f.leader(t.Context(), f.leaseName+name); err != nil || leads != want {
			t.Errorf("%v holds the Lease %s, %v", leads, name, err)
		}
	}
	for i, want := range [][]*replica{{one}, {one, two}} {
		of := *f
		of.fixtures = f.fixtures[i : i+1]
		of.expectWriters(want...)
	}
}
