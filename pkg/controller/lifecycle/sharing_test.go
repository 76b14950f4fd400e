// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"sync"
	"testing"

	kubernetes "k8s.io/client-go/kubernetes/fake"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/replicas"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
)

// A replica may have a Lease and not reach its storage.
func TestWhatOneReplicaDoesNotTakeIsTakenByAnotherOne(t *testing.T) {
	t.Parallel()
	host := kubernetes.NewClientset()
	ctx, leave := context.WithCancel(t.Context())
	var joined sync.WaitGroup
	joined.Go(func() {
		err := replicas.Join(ctx, replicas.Config{Client: host, Namespace: "ours", Group: "g", Process: "idle"}, func(ctx context.Context, _ *replicas.Membership) error {
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	defer joined.Wait()
	defer leave()
	f := makeFixture(t, fake.NewSimpleClientset())
	f.joinAndRun(t, host, func(context.Context) {})
	for _, name := range []string{"first", "second"} {
		f.create(t, controllerOf(name, pods))
	}
	for _, name := range []string{"first", "second"} {
		waitUntil(t, func() string { return "nobody runs " + name }, func() bool { return f.runner(t, name) != "" })
	}
}
