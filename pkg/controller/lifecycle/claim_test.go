// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

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
			select {
			case <-refused: // the replica leaves, and ends only then
			case <-time.After(time.Minute):
				t.Error("a replica that leaves gives nothing away")
			}
		}
		return false, nil, nil
	})
	f := makeFixture(t, own)
	end := f.joinAndRun(t, host, func(ctx context.Context) { working = ctx })
	f.create(t, controllerOf("shop", pods))
	f.untilReady(t, "shop", "True Running")
	end()
	if runner := f.runner(t, "shop"); runner != "" {
		t.Errorf("the replica has ended, and status.runner still names it: %s", runner)
	}
}

func TestAReplicaThatEndsReleasesEachControllerAsItStops(t *testing.T) {
	t.Parallel()
	f := makeFixture(t, fake.NewSimpleClientset())
	end := f.joinAndRun(t, kubernetes.NewClientset(), func(context.Context) {})
	for _, name := range []string{"slow", "fast"} {
		f.create(t, controllerOf(name, pods))
		f.untilReady(t, name, "True Running")
	}
	answered, slow := make(chan struct{}), f.state(unit{name: "slow"}).getRunning()
	answer := sync.OnceFunc(func() { close(answered) })
	defer answer()
	stop := slow.stop
	slow.stop = func() {
		stop()
		<-answered // one of its writes is not
	}
	var ending sync.WaitGroup
	ending.Go(end)
	waitUntil(t, func() string { return "the controller that has stopped is not released" }, func() bool { return f.runner(t, "fast") == "" })
	if f.runner(t, "slow") == "" {
		t.Error("a controller is released that still writes")
	}
	answer()
	ending.Wait()
	if runner := f.runner(t, "slow"); runner != "" {
		t.Errorf("the replica has ended, and status.runner still names it: %s", runner)
	}
}

func TestWhatIsQueuedWhenTheReplicaEndsIsLeft(t *testing.T) {
	t.Parallel()
	f := makeFixture(t, fake.NewSimpleClientset())
	f.create(t, controllerOf("shop", pods))
	waitUntil(t, func() string { return "the informer does not show it" }, func() bool {
		_, err := f.api.get("shop")
		return err == nil
	})
	ctx, end := context.WithCancel(t.Context())
	end()
	f.queue.Add(unit{name: "shop"})
	f.queue.ShutDown()
	f.work(ctx)
	if states := f.allStates(); len(states) > 0 {
		t.Errorf("%s was reconciled", states[0].unit)
	}
}

// joinAndRun runs the Reconciler as a replica, which calls began first, until the function that it returns is called.
func (f *fixture) joinAndRun(t *testing.T, host *kubernetes.Clientset, began func(working context.Context)) (end func()) {
	t.Helper()
	ctx, leave := context.WithCancel(context.WithoutCancel(t.Context()))
	left := make(chan error, 1)
	go func() {
		left <- replicas.Join(ctx, replicas.Config{Client: host, Namespace: "ours", Group: "g", Process: "one"}, func(ctx context.Context, membership *replicas.Membership) error {
			began(ctx)
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
	end = sync.OnceFunc(func() {
		leave()
		if err := <-left; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// runner returns the replica that runs a controller; empty if none does.
func (f *fixture) runner(t *testing.T, name string) string {
	t.Helper()
	object, err := f.own.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return runnerOf(object, unit{name: name})
}
