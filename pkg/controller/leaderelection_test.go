// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// candidate is one process that may become the leader.
type candidate struct {
	stop    context.CancelFunc
	working chan struct{}
	// finish lets the work return after its context has ended.
	finish chan struct{}
	result chan error
}

func startCandidate(t *testing.T, client *fake.Clientset, identity string) *candidate {
	t.Helper()
	return startCandidateIn(t.Context(), t, client, identity)
}

func startCandidateIn(ctx context.Context, t *testing.T, client *fake.Clientset, identity string) *candidate {
	t.Helper()
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "default", "metacontroller",
		client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(ctx)
	c := &candidate{stop: stop, working: make(chan struct{}), finish: make(chan struct{}), result: make(chan error, 1)}
	go func() {
		c.result <- term(ctx, "metacontroller", lock, func(ctx context.Context) error {
			close(c.working)
			<-ctx.Done()
			<-c.finish
			return nil
		})
	}()
	return c
}

// end stops the candidate and lets its work return.
func (c *candidate) end(t *testing.T) {
	t.Helper()
	c.stop()
	close(c.finish)
	if err := <-c.result; err != nil {
		t.Error(err)
	}
}

func (c *candidate) isWorking() bool {
	synctest.Wait()
	select {
	case <-c.working:
		return true
	default:
		return false
	}
}

// pass lets time pass in a synctest bubble, where it is not real.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // nobody waits

func TestOnlyOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := startCandidate(t, client, "first")
		if !first.isWorking() {
			t.Fatal("the only candidate should lead at once")
		}
		second := startCandidate(t, client, "second")
		pass(10 * leaseDuration)
		if second.isWorking() {
			t.Fatal("two lead at once")
		}

		first.stop()
		pass(leaseDuration / 2)
		if second.isWorking() {
			t.Fatal("the second leads while the first is still at work")
		}
		close(first.finish)
		if err := <-first.result; err != nil {
			t.Error(err)
		}
		lease, err := client.CoordinationV1().Leases("default").Get(t.Context(), "metacontroller", metav1.GetOptions{})
		if err != nil || *lease.Spec.HolderIdentity != "" {
			t.Errorf("the lease should be released, but is %v (%v)", lease, err)
		}
		pass(6 * retryPeriod) // at random, a candidate waits for up to 2.2 of them, and may have to look twice
		if !second.isWorking() {
			t.Error("the second should lead soon after the first has released the lease")
		}
		second.end(t)
	})
}

func TestCandidateThatNeverLedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		leader := startCandidate(t, client, "leader")
		_ = leader.isWorking()
		waiting := startCandidate(t, client, "waiting")
		synctest.Wait()
		waiting.stop()
		if err := <-waiting.result; err != nil {
			t.Error(err)
		}
		leader.end(t)
	})
}

func TestErrorOfTheWorkEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "default", "metacontroller",
			fake.NewClientset().CoreV1(), fake.NewClientset().CoordinationV1(), resourcelock.ResourceLockConfig{Identity: "one"})
		if err != nil {
			t.Fatal(err)
		}
		broken := errors.New("cannot work")
		if err := term(t.Context(), "metacontroller", lock, func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("term should return the error of the work, but returned %v", err)
		}
	})
}

func TestWhoLeadsIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		said := map[string]string{}
		logging := func(identity string) context.Context {
			return klog.NewContext(t.Context(), funcr.New(func(_, line string) {
				mu.Lock()
				defer mu.Unlock()
				said[identity] += line + "\n"
			}, funcr.Options{}))
		}
		client := fake.NewClientset()
		first := startCandidateIn(logging("first"), t, client, "first")
		if !first.isWorking() {
			t.Fatal("the only candidate should lead at once")
		}
		second := startCandidateIn(logging("second"), t, client, "second")
		pass(leaseDuration)
		mu.Lock()
		for identity, want := range map[string]string{"first": `"This process is the leader"`, "second": `"Another process is the leader" "leader"="first"`} {
			if !strings.Contains(said[identity], want) {
				t.Errorf("the %s says\n%swant in it %s", identity, said[identity], want)
			}
		}
		if strings.Contains(said["first"], "Another process") {
			t.Errorf("the leader says\n%s", said["first"])
		}
		mu.Unlock()
		second.end(t)
		first.end(t)
	})
}
