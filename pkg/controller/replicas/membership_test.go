// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clienttesting "k8s.io/client-go/testing"
)

// replica is a process that has joined.
type replica struct {
	*Membership
	stop    context.CancelFunc
	working context.Context
	// finish lets the work return after its context has ended.
	finish chan struct{}
	result chan error
	// cut is true if the host does not answer it.
	cut *atomic.Bool
	// late is true if the host answers its reads of single Leases late. It has read so many.
	late  atomic.Bool
	reads atomic.Int32
}

func join(t *testing.T, host *fake.Clientset, name string) *replica {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &replica{stop: stop, finish: make(chan struct{}), result: make(chan error, 1), cut: &atomic.Bool{}}
	client := fake.NewClientset()
	client.ReactionChain, client.WatchReactionChain = nil, host.WatchReactionChain
	client.AddReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if r.cut.Load() {
			return true, nil, errors.New("no route to host")
		}
		object, err := host.Invokes(action, nil)
		return true, object, err
	})
	joined := make(chan struct{})
	go func() {
		r.result <- Join(ctx, Config{Client: lateReads{client, r}, Namespace: "ours", Group: "g", Process: name, Address: name + ":6443"}, func(ctx context.Context, m *Membership) error {
			r.Membership, r.working = m, ctx
			close(joined)
			<-ctx.Done()
			<-r.finish
			return nil
		})
	}()
	<-joined
	synctest.Wait()
	return r
}

// end stops the replica and waits until it has left.
func (r *replica) end(t *testing.T) {
	t.Helper()
	r.stop()
	close(r.finish)
	if err := <-r.result; err != nil {
		t.Error(err)
	}
	synctest.Wait()
}

// pass lets time pass in a synctest bubble, where it is not real.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // nobody waits
	synctest.Wait()
}

func (r *replica) expectAlive(t *testing.T, when string, want ...*replica) {
	t.Helper()
	var names []string
	for _, one := range want {
		names = append(names, one.Name())
	}
	slices.Sort(names)
	if got := r.Alive(); !slices.Equal(got, names) {
		t.Errorf("%s, %s takes %v for alive, want %v", when, r.Name(), got, names)
	}
}

func TestReplicasSeeOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		a, b := join(t, host, "a"), join(t, host, "b")
		changes := 0
		a.OnChange(func() { changes++ })
		for range 100 {
			pass(time.Second)
			a.expectAlive(t, "while both live", a, b)
			b.expectAlive(t, "while both live", a, b)
		}
		if a.working.Err() != nil || a.Fence.Check() != nil || changes > 0 {
			t.Errorf("the work has ended: %v, the fence says %v, there were %d changes", a.working.Err(), a.Fence.Check(), changes)
		}
		b.end(t)
		a.end(t)
		if left, err := host.CoordinationV1().Leases("ours").List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) > 0 {
			t.Errorf("there are left: %v (%v)", left.Items, err)
		}
	})
}

func TestReplicasKnowWhereTheOthersAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		a, b, c := join(t, host, "a"), join(t, host, "b"), join(t, host, "c")
		pass(time.Second)
		want := map[string]string{b.Name(): "b:6443", c.Name(): "c:6443"}
		if got := a.Peers(); !maps.Equal(got, want) {
			t.Errorf("a knows %v, want %v", got, want)
		}
		b.end(t)
		c.cut.Store(true)
		pass(time.Minute)
		if got := a.Peers(); len(got) != 0 {
			t.Errorf("of one that has left and one that is dead, a still knows %v", got)
		}
		a.end(t)
		c.end(t)
	})
}

func TestAReplicaThatLeavesTakesNothingButIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		a, b := join(t, host, "a"), join(t, host, "b")
		b.stop()
		pass(time.Millisecond)
		a.expectAlive(t, "as soon as b is leaving", a)
		b.expectAlive(t, "while it is leaving", a)
		pass(time.Minute) // it takes long to stop
		if a.IsDead(b.Name()) || b.Fence.Check() != nil {
			t.Error("b is taken for dead, or must not act, while it stops its controllers")
		}
		b.end(t)
		a.end(t)
	})
}

// Others may have taken over from it long ago. A newcomer that leaves controllers for it would leave them without a replica.
func TestANewcomerLeavesNothingForAReplicaThatDiedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		a, b := join(t, host, "a"), join(t, host, "b")
		b.cut.Store(true)
		for !a.IsDead(b.Name()) {
			pass(time.Second)
		}
		c := join(t, host, "c")
		c.expectAlive(t, "as soon as it has joined", a, c)
		a.expectAlive(t, "as soon as a newcomer has joined", a, c)
		if c.IsDead(b.Name()) {
			t.Error("b is taken for dead before its Lease was watched for long enough: the clocks may differ")
		}
		b.cut.Store(false)
		if err := b.patch(t.Context(), map[string]any{"renewTime": metav1.NowMicro()}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.expectAlive(t, "when it has renewed its Lease after all", a, b, c)
		b.end(t)
		c.end(t)
		a.end(t)
	})
}

// A replica is asked about as soon as a controller names it, which may be before its Lease is seen.
func TestALeaseThatHasExpiredIsStaleAlsoIfItsReplicaWasAskedForBefore(t *testing.T) {
	for name, asked := range map[string]bool{"asked for before": true, "not asked for": false} {
		t.Run(name, func(t *testing.T) {
			m := &Membership{config: Config{Group: "g"}, replica: "new", changed: func() {}, others: map[string]*sighting{}}
			if asked && m.IsDead("old") {
				t.Error("it is taken for dead at once")
			}
			renewed, holder := metav1.NewMicroTime(time.Now().Add(-time.Hour)), "old"
			m.see(&coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: "g-old"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
			})
			if alive := m.Alive(); !slices.Equal(alive, []string{"new"}) {
				t.Errorf("alive are %v", alive)
			}
		})
	}
}

// lateReads is a host that may answer reads of single Leases late.
type lateReads struct {
	kubernetes.Interface
	of *replica
}

// IsWatchListSemanticsUnSupported is what the fake client says, too.
func (lateReads) IsWatchListSemanticsUnSupported() bool { return true }

func (l lateReads) CoordinationV1() coordinationclient.CoordinationV1Interface {
	return lateCoordination{l.Interface.CoordinationV1(), l.of}
}

type lateCoordination struct {
	coordinationclient.CoordinationV1Interface
	of *replica
}

func (l lateCoordination) Leases(namespace string) coordinationclient.LeaseInterface {
	return lateLeases{l.CoordinationV1Interface.Leases(namespace), l.of}
}

type lateLeases struct {
	coordinationclient.LeaseInterface
	of *replica
}

func (l lateLeases) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	l.of.reads.Add(1)
	if !l.of.late.Load() {
		return l.LeaseInterface.Get(ctx, name, options)
	}
	select {
	case <-time.After(30 * time.Second):
	case <-ctx.Done():
	}
	return nil, errors.New("no answer")
}

func TestALeaseIsRenewedWhileThoseOfTheDeadAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		a, b := join(t, host, "a"), join(t, host, "b")
		a.late.Store(true)
		b.cut.Store(true)
		for range 60 {
			pass(time.Second)
			lease, err := host.CoordinationV1().Leases("ours").Get(t.Context(), a.leaseName(a.Name()), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(lease.Spec.RenewTime.Time); age > validity {
				t.Fatalf("the Lease was renewed %s ago", age)
			}
		}
		if a.reads.Load() == 0 {
			t.Error("the Lease of the dead replica was not read")
		}
		b.end(t)
		a.end(t)
	})
}

func TestAReplicaActsNoMoreBeforeItIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		a, b := join(t, host, "a"), join(t, host, "b")
		b.cut.Store(true)
		var closed, dead time.Duration
		for begin := time.Now(); dead == 0; pass(100 * time.Millisecond) {
			if closed == 0 && b.Fence.Check() != nil {
				closed = time.Since(begin)
				if !errors.Is(context.Cause(b.working), ErrLeaseLost) {
					t.Errorf("the work goes on: %v", context.Cause(b.working))
				}
			}
			if a.IsDead(b.Name()) {
				dead = time.Since(begin)
			}
		}
		if closed == 0 || closed > validity || dead-closed < 2*time.Second || dead > 15*time.Second {
			t.Errorf("it acts for %s, and is dead after %s", closed, dead)
		}
		a.expectAlive(t, "when b is dead", a)
		close(b.finish)
		if err := <-b.result; err != nil {
			t.Error(err)
		}
		b.stop()
		pass(2 * forgottenAfter)
		if left, err := host.CoordinationV1().Leases("ours").List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) != 1 {
			t.Errorf("the Lease of the dead replica stays: %v (%v)", left.Items, err)
		}
		a.end(t)
	})
}

// One whose watch shows nothing must not take over from those who live.
func TestWhoSeesNoRenewalsAsksTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		b := join(t, host, "b")
		host.WatchReactionChain = nil
		host.AddWatchReactor("*", clienttesting.DefaultWatchReactor(nil, errors.New("no watches")))
		a := join(t, host, "a")
		for range 60 {
			pass(time.Second)
			if a.IsDead(b.Name()) {
				t.Fatal("b is taken for dead")
			}
		}
		b.end(t)
		a.end(t)
	})
}

func TestAReplicaThatWasNeverSeenIsDeadAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := join(t, fake.NewClientset(), "a")
		for begin := time.Now(); !a.IsDead("former"); pass(time.Second) {
			if time.Since(begin) > 15*time.Second {
				t.Fatal("it is not taken for dead")
			}
		}
		if a.IsDead(a.Name()) {
			t.Error("a takes itself for dead")
		}
		a.end(t)
	})
}

func TestWhoseLeaseIsDeletedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := fake.NewClientset()
		a := join(t, host, "a")
		if err := host.CoordinationV1().Leases("ours").Delete(t.Context(), "g-"+a.Name(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(renewPeriod)
		select {
		case <-a.Fence.Context().Done():
		default:
			t.Error("those who wait for the fence are not told that it has closed")
		}
		if !errors.Is(context.Cause(a.working), ErrLeaseLost) || a.Fence.Check() == nil {
			t.Errorf("the work goes on: %v", context.Cause(a.working))
		}
		a.end(t)
	})
}

func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("cannot work")
		config := Config{Client: fake.NewClientset(), Namespace: "ours", Group: "g", Process: "a"}
		if err := Join(t.Context(), config, func(context.Context, *Membership) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("the error of the work becomes %v", err)
		}
		host := fake.NewClientset()
		host.PrependReactor("create", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, broken })
		config.Client = host
		err := Join(t.Context(), config, func(context.Context, *Membership) error { t.Error("it works without a Lease"); return nil })
		if _, ok := errors.AsType[*JoinError](err); !ok || !errors.Is(err, broken) {
			t.Errorf("the error of the Lease becomes %v", err)
		}
	})
}

// A closed fence lets requests through that only read.
func TestTheTransportOfAClosedFenceWritesNothing(t *testing.T) {
	sent := 0
	host := roundTripper(func(*http.Request) (*http.Response, error) { sent++; return &http.Response{}, nil })
	fence := newFence(now(), time.Hour, func(error) {})
	for method, want := range map[string]int{http.MethodGet: 1, http.MethodPost: 0, http.MethodPatch: 0, http.MethodPut: 0, http.MethodDelete: 0} {
		for _, closed := range []bool{false, true} {
			sent = 0
			tried := fence
			if closed {
				tried = newFence(now(), 0, func(error) {})
			}
			request, err := http.NewRequestWithContext(t.Context(), method, "http://host", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := tried.Transport(host).RoundTrip(request)
			if err == nil && response.Body != nil {
				response.Body.Close()
			}
			if expected := max(want, map[bool]int{false: 1}[closed]); sent != expected || (err == nil) != (expected == 1) {
				t.Errorf("%s with a closed fence (%t): %d are sent, the error is %v", method, closed, sent, err)
			}
		}
	}
	if err := (*Fence)(nil).Check(); err != nil {
		t.Errorf("without a fence: %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
