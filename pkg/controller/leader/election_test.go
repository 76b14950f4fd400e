// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// cluster keeps the Lease. A process reaches it through a line of its own.
type cluster struct{ *fake.Clientset }

// line is how a process reaches the cluster: its requests are done at once, and answered late or, if it is cut, not
// at all.
type line struct {
	coordinationclient.LeaseInterface
	mu    sync.Mutex
	late  time.Duration
	isCut bool
}

func (l *line) Leases(string) coordinationclient.LeaseInterface { return l }

func (l *line) set(late time.Duration, isCut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late, l.isCut = late, isCut
}

func (l *line) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.ask(ctx, func() (*coordinationv1.Lease, error) { return l.LeaseInterface.Get(ctx, name, options) })
}

func (l *line) Create(
	ctx context.Context, of *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return l.ask(ctx, func() (*coordinationv1.Lease, error) { return l.LeaseInterface.Create(ctx, of, options) })
}

func (l *line) Update(
	ctx context.Context, of *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return l.ask(ctx, func() (*coordinationv1.Lease, error) {
		stored, err := l.LeaseInterface.Get(ctx, of.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if stored.ResourceVersion != of.ResourceVersion { // the fake client does not look
			return nil, apierrors.NewConflict(coordinationv1.Resource("leases"), of.Name, errors.New("it has changed"))
		}
		next := of.DeepCopy()
		next.ResourceVersion += "+"
		return l.LeaseInterface.Update(ctx, next, options)
	})
}

func (l *line) ask(ctx context.Context, do func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	late, isCut := l.late, l.isCut
	l.mu.Unlock()
	if isCut {
		return nil, errors.New("no route to host")
	}
	answer, err := do()
	select {
	case <-time.After(late):
		return answer, err
	case <-time.After(RequestTimeout):
		return nil, context.DeadlineExceeded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// process is one that stands for election.
type process struct {
	*Election
	line *line
	stop func()

	mu    sync.Mutex
	terms int
	// leads is its term while its work runs.
	leads *Term
}

// stopDelay is how long the work of a process takes to end.
const stopDelay = time.Second

func (c cluster) start(t *testing.T, name, storage string) *process {
	p := &process{line: &line{LeaseInterface: c.CoordinationV1().Leases("ns")}}
	p.Election = New(Config{Client: p.line, Namespace: "ns", Name: "lease", Process: name, Address: name + ":443"})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		err := p.Run(ctx, storage, func(ctx context.Context, term *Term) error {
			p.set(term)
			<-ctx.Done()
			time.Sleep(stopDelay)
			p.set(nil)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	p.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(p.stop)
	return p
}

func (p *process) set(term *Term) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leads = term; term != nil {
		p.terms++
	}
}

// mayWrite reports whether the process runs the controllers, and they may write.
func (p *process) mayWrite() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leads != nil && p.leads.Check() == nil
}

func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.terms
}

// await waits until a process leads, and checks that at most one ever may write. It returns how long that took.
func await(t *testing.T, want *process, all ...*process) time.Duration {
	t.Helper()
	began := time.Now()
	for !want.mayWrite() {
		if time.Since(began) > time.Minute {
			t.Fatal("it does not lead after a minute")
		}
		time.Sleep(100 * time.Millisecond)
		expectOneAtMost(t, all...)
	}
	return time.Since(began)
}

func expectOneAtMost(t *testing.T, all ...*process) {
	t.Helper()
	writers := 0
	for _, one := range all {
		if one.mayWrite() {
			writers++
		}
	}
	if writers > 1 {
		t.Fatalf("%d processes may write", writers)
	}
}

func TestAnotherProcessLeadsAfterTheOneThatStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{fake.NewClientset()}
		one := c.start(t, "one", "a")
		await(t, one)
		two := c.start(t, "two", "a")
		time.Sleep(time.Minute)
		if one.Check(nil) != nil || two.Check(nil) != nil || !one.Leads() || two.Leads() {
			t.Errorf("one leads: %t, %v; two leads: %t, %v", one.Leads(), one.Check(nil), two.Leads(), two.Check(nil))
		}
		address, leads := two.Address()
		if address != "one:443" || leads.Err() != nil {
			t.Errorf("two takes %q for the address of the leader", address)
		}
		go one.stop()
		if took := await(t, two, one, two); took > stopDelay+5*time.Second {
			t.Errorf("the next one leads after %s", took)
		}
		if leads.Err() == nil {
			t.Error("the requests that are passed on go on")
		}
	})
}

func TestAnotherProcessLeadsAfterTheOneThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{fake.NewClientset()}
		one := c.start(t, "one", "a")
		await(t, one)
		two := c.start(t, "two", "a")
		time.Sleep(10 * time.Second)
		one.line.set(0, true)
		if took := await(t, two, one, two); took > 20*time.Second {
			t.Errorf("the next one leads after %s", took)
		}
		time.Sleep(time.Minute)
		one.line.set(0, false)
		go two.stop()
		await(t, one, one, two) // again, in the same process
		if one.count() != 2 {
			t.Errorf("the first one has worked %d times, want 2", one.count())
		}
	})
}

// Requests for what the leader has are answered at once then, and do not wait for a machine that is gone.
func TestTheAddressOfALeaderThatDoesNotRenewItsLeaseIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{fake.NewClientset()}
		one := c.start(t, "one", "a")
		await(t, one)
		two := c.start(t, "two", "a")
		time.Sleep(time.Minute)
		address, leads := two.Address()
		if address != "one:443" {
			t.Fatalf("the leader is at %q", address)
		}
		one.line.set(0, true)
		time.Sleep(renewDeadline + 2*retryPeriod)
		three := c.start(t, "three", "a") // sees the Lease for the first time
		time.Sleep(retryPeriod)
		for name, of := range map[string]*process{"two": two, "three": three} {
			if address, _ := of.Address(); address != "" || of.Leads() {
				t.Errorf("%s takes %q for the address of the leader, and leads: %t", name, address, of.Leads())
			}
		}
		if leads.Err() == nil {
			t.Error("the requests that are passed on go on")
		}
	})
}

func TestReadinessSaysForWhatAProcessWaits(t *testing.T) {
	e := New(Config{})
	e.SetUnknown(errors.New("the host does not answer"))
	if err := e.Check(nil); err == nil || err.Error() != "the host does not answer" {
		t.Errorf("the error is %v", err)
	}
}

// The Lease is renewed although the answer is late.
func TestALeaderKeepsItsLeaseWhileAnswersAreLate(t *testing.T) {
	for _, late := range []time.Duration{time.Second, 2100 * time.Millisecond, 3 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := cluster{fake.NewClientset()}
				one := c.start(t, "one", "a")
				await(t, one)
				two := c.start(t, "two", "a")
				one.line.set(late, false)
				two.line.set(late, false)
				for range 600 {
					time.Sleep(100 * time.Millisecond)
					if !one.mayWrite() {
						t.Fatal("the leader may not write")
					}
				}
				if one.count() != 1 || two.count() != 0 {
					t.Errorf("the processes have worked %d and %d times", one.count(), two.count())
				}
			})
		})
	}
}

func TestATermIsOverOnceAnotherProcessHasLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{fake.NewClientset()}
		one := c.start(t, "one", "a")
		await(t, one)
		// As if it had been stopped while another one led and released the Lease.
		lease, err := c.CoordinationV1().Leases("ns").Get(t.Context(), "lease", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		*lease.Spec.LeaseTransitions += 2
		*lease.Spec.HolderIdentity = ""
		lease.ResourceVersion = "another"
		if _, err := c.CoordinationV1().Leases("ns").Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 60 {
			time.Sleep(time.Second)
		}
		if one.count() != 2 || !one.mayWrite() {
			t.Errorf("the process has worked %d times, and may write: %t; want it to begin again", one.count(), one.mayWrite())
		}
	})
}

func TestAProcessWithAnotherStorageNeverTakesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster{fake.NewClientset()}
		one := c.start(t, "one", "a")
		await(t, one)
		two := c.start(t, "two", "b")
		time.Sleep(10 * time.Second)
		one.stop()
		for range 60 {
			time.Sleep(time.Second)
			if two.Leads() || two.count() > 0 {
				t.Fatal("it leads")
			}
		}
		err := two.Check(nil)
		if err == nil {
			t.Fatal("it is ready")
		}
		for _, part := range []string{"Lease ns/lease", "storage a", "storage is b", "delete that Lease"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("it does not say %q: %v", part, err)
			}
		}
		again := c.start(t, "one", "a")
		await(t, again, again, two)
		again.stop()
		if err := c.CoordinationV1().Leases("ns").Delete(t.Context(), "lease", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, two, again, two)
		if err := two.Check(nil); err != nil {
			t.Errorf("it is not ready: %v", err)
		}
	})
}

func TestATermGoesOnWhileItIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := newTerm(0, time.Now())
		for range 5 {
			time.Sleep(renewDeadline - time.Second)
			term.renew(time.Now())
		}
		if err := term.Check(); err != nil {
			t.Errorf("the error is %v", err)
		}
		term.giveUp()
		if err := term.Check(); !errors.Is(err, ErrNotLeading) {
			t.Errorf("after its end, the error is %v", err)
		}
	})
}

func TestNothingIsWrittenAfterTheRenewDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, sent := newTerm(0, time.Now()), 0
		through := term.Transport(roundTripper(func(*http.Request) { sent++ }))
		for _, test := range []struct {
			after time.Duration
			err   error
		}{{0, nil}, {renewDeadline - time.Second, nil}, {2 * time.Second, ErrNotLeading}} {
			time.Sleep(test.after)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://host/", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := through.RoundTrip(request)
			if err == nil {
				err = response.Body.Close()
			}
			if !errors.Is(err, test.err) {
				t.Errorf("the error is %v, want %v", err, test.err)
			}
		}
		if sent != 2 {
			t.Errorf("%d requests were sent, want 2", sent)
		}
		if cause := context.Cause(term.over); !errors.Is(cause, ErrNotLeading) {
			t.Errorf("the term has ended because of %v", cause)
		}
		term.renew(time.Now())
		if err := term.Check(); !errors.Is(err, ErrNotLeading) {
			t.Errorf("after a renewal that came too late, the error is %v", err)
		}
		if err := (*Term)(nil).Check(); err != nil {
			t.Errorf("of a process without others, the error is %v", err)
		}
	})
}

type roundTripper func(*http.Request)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	r(request)
	return &http.Response{Body: http.NoBody}, nil
}
