// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubernetes "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/replicas"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned/fake"
)

// Between the moment when a replica says that it leaves and its end, it may begin to give a controller away. The end
// can cut that short.
func TestAReplicaThatEndsReleasesWhatItCouldNotGiveAway(t *testing.T) {
	t.Parallel()
	own := fake.NewSimpleClientset()
	var working context.Context
	refused := make(chan struct{})
	refuse := sync.OnceFunc(func() { close(refused) })
	own.PrependReactor("update", "compositecontrollers", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.UpdateAction).GetObject().(*v1alpha1.CompositeController)
		if action.GetSubresource() != "status" || object.Status.Runner != nil || working.Err() != nil {
			return false, nil, nil
		}
		refuse()
		return true, nil, errors.New("the etcd is not there")
	})
	host := kubernetes.NewClientset()
	host.PrependReactor("patch", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if patch := string(action.(clienttesting.PatchAction).GetPatch()); patch == `{"spec":{"holderIdentity":""}}` {
			<-refused // the replica leaves, and ends only then
		}
		return false, nil, nil
	})
	f := makeFixture(t, own)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	defer end()
	left := make(chan error)
	go func() {
		left <- replicas.Join(ctx, replicas.Config{Client: host, Namespace: "ours", Group: "g", Process: "one"}, func(ctx context.Context, membership *replicas.Membership) error {
			working = ctx
			metrics, err := NewSharingMetrics(prometheus.NewRegistry())
			if err != nil {
				return err
			}
			sharing := Share(membership, metrics, f.Reconciler)
			var running sync.WaitGroup
			running.Go(func() { err = sharing.Run(ctx) })
			runErr := f.Run(ctx)
			running.Wait()
			return errors.Join(err, runErr)
		})
	}()
	f.create(t, controllerOf("shop", pods))
	f.untilReady(t, "shop", "True Running")
	end()
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	object, err := own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if runner := object.Status.Runner; runner != nil {
		t.Errorf("the replica has ended, and status.runner still names it: %+v", runner)
	}
}
