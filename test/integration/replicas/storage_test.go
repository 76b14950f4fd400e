// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"testing"
	"time"
)

func TestAMemberOfEtcdMayFail(t *testing.T) {
	f := newFleet(t, 2)
	f.run(t, 4, 1)
	f.waitForEven(f.replicas...)

	f.etcd.kill(0)
	f.eventually(f.write)
	f.edit("1")
	f.waitForEdit("1")

	f.etcd.kill(1)
	if err := f.write(t.Context()); err == nil {
		t.Error("a controller could be changed with one of three members of etcd")
	}
	f.edit("2") // the cluster has its own etcd
	f.waitForEdit("2")

	f.etcd.start(1)
	f.eventually(f.write)
	f.edit("3")
	f.waitForEdit("3")
	f.waitForEven(f.replicas...)
	f.checkWriters()
}

// The files of the certificates are replaced, and no server is restarted.
func TestTheCertificatesOfEtcdAreReplaced(t *testing.T) {
	f := newFleet(t, 2)
	f.run(t, 4, 1)
	f.waitForEven(f.replicas...)

	former := f.etcd.client
	f.etcd.issue()
	f.etcd.revoke(former)
	for member := range f.etcd.members { // so that all connections are made anew
		f.etcd.kill(member)
		f.eventually(f.write)
		f.etcd.start(member)
		f.eventually(func(ctx context.Context) error { return f.etcd.isHealthy(ctx, member) })
	}
	for _, replica := range f.replicas {
		f.eventually(func(ctx context.Context) error {
			_, err := f.tableOf(ctx, replica)
			return err
		})
	}
	f.edit("1")
	f.waitForEdit("1")
	f.waitForEven(f.replicas...)
	f.checkWriters()
}

// write changes a controller.
func (f *fleet) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := env.Host.RunKubectl(ctx, "annotate", "--overwrite", "compositecontroller", f.fixtures[0].Controller.Name, "at="+time.Now().Format(time.RFC3339Nano))
	return err
}
