// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// These are the defaults of Kubernetes components, except that they retry every two seconds. client-go makes each
// pause up to 2.2 times as long, before it sees the last renewal and again before it sees that the Lease has expired:
// the next leader would begin up to 24 seconds after the last one has died, and so begins after less than 20.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = time.Second
)

// RequestTimeout bounds a request for the Lease so that there is time for another one before the renew deadline.
const RequestTimeout = renewDeadline / 2

// Config says for which Lease a process is a candidate.
type Config struct {
	// Client is the client of the cluster.
	Client coordinationclient.LeasesGetter
	// Namespace and Name identify the Lease.
	Namespace, Name string
	// Process names this process. Address is where the other processes reach it, as host:port.
	Process, Address string
	// Exclusive is true if no other process can have the storage while this one has it. Then this process continues
	// the term of the previous one, which has ended.
	Exclusive bool
}

// Election represents this process in the election. Its methods may be called concurrently.
type Election struct {
	config Config
	// storage is the ID of the storage. It does not change once Run is called.
	storage string

	mu sync.Mutex
	// isKnown is true once the Lease has been read or written.
	isKnown bool
	// lacks says why this process must not take the Lease, or why that is not known; nil if it may.
	lacks error
	// term is nil while this process does not lead, and working is nil while it does no work.
	term    *Term
	working chan struct{}
	// address is the API address of the known leader. It is empty if no process leads, or if this process leads. The
	// context leads is canceled when that leader no longer leads.
	address  string
	leads    context.Context
	endLeads context.CancelFunc
	// renewed is the time of the last renewal by another process, and seen the time at which this process noticed
	// it.
	renewed metav1.MicroTime
	seen    time.Time
}

// New returns an election. The caller must call Run.
func New(config Config) *Election {
	e := &Election{config: config}
	e.lacks = errors.New("the server has not read the ID of its storage yet")
	e.leads, e.endLeads = context.WithCancel(context.Background())
	return e
}

// Run does the work each time that this process is elected, until ctx ends. The context of the work ends with the
// term, and the Lease is released when the work has ended. Run returns the error of the work. Storage is the ID of
// the storage.
func (e *Election) Run(ctx context.Context, storage string, work func(context.Context, *Term) error) error {
	e.storage = storage
	e.SetUnknown(fmt.Errorf("the Lease %s/%s has not been read yet", e.config.Namespace, e.config.Name))
	identity := e.config.Process + "_" + string(uuid.NewUUID())
	if e.config.Exclusive {
		identity = e.config.Process + "_" + storage
	}
	for ctx.Err() == nil && e.awaitPermission(ctx, identity) {
		if err := e.runOnce(ctx, identity, work); err != nil {
			return err
		}
	}
	return nil
}

// awaitPermission waits until this process may take the Lease. It returns false if ctx ends.
func (e *Election) awaitPermission(ctx context.Context, identity string) bool {
	var logged string
	err := wait.PollUntilContextCancel(ctx, retryPeriod, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
		defer cancel()
		found, err := e.config.Client.Leases(e.config.Namespace).Get(ctx, e.config.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			e.free()
			return true, nil
		case err != nil:
			err = fmt.Errorf("read the Lease %s/%s: %w", e.config.Namespace, e.config.Name, err)
			e.SetUnknown(err)
		default:
			err = e.see(found, identity)
		}
		if err != nil && ctx.Err() == nil && err.Error() != logged {
			logged = err.Error()
			klog.FromContext(ctx).Error(err, "Waiting until the controllers can run")
		}
		return err == nil, nil
	})
	return err == nil
}

// runOnce takes part in an election, and does the work of one term if this process is elected.
func (e *Election) runOnce(ctx context.Context, identity string, work func(context.Context, *Term) error) error {
	standing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	client := &leases{LeaseInterface: e.config.Client.Leases(e.config.Namespace), election: e, identity: identity}
	elected, over := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: e.config.Name, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		ReleaseOnCancel: true,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: e.config.Namespace, Name: e.config.Name}, Client: client,
			Labels: map[string]string{StorageLabel: e.storage}, LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("start leader election with the Lease %s/%s: %w", e.config.Namespace, e.config.Name, err)
	}
	go func() {
		defer close(over)
		elector.Run(standing)
		e.endTerm()
	}()
	defer func() {
		stop()
		<-over
		e.forgetTerm()
	}()
	for {
		select {
		case <-elected:
			return e.runTerm(ctx, work)
		case <-over:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(retryPeriod):
			if e.isForeign() {
				return nil
			}
		}
	}
}

// runTerm does the work of a term.
func (e *Election) runTerm(ctx context.Context, work func(context.Context, *Term) error) error {
	term, worked := e.beginWork()
	if term == nil {
		return nil // the term has already ended
	}
	working, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(term.over, func() { cancel(context.Cause(term.over)) })()
	err := work(working, term)
	lost := context.Cause(term.over)
	e.endTerm()
	worked()
	switch {
	case lost != nil:
		klog.FromContext(ctx).Error(lost, "Stopped all controllers")
		return nil
	case ctx.Err() != nil:
		return nil
	}
	return err
}

// beginWork begins the work of the term. It returns the term, and end, which the caller must call after the work. It
// returns nil for both if this process does not lead.
func (e *Election) beginWork() (term *Term, end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term == nil || e.term.over.Err() != nil {
		return nil, nil
	}
	working := make(chan struct{})
	e.working = working
	return e.term, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.working = nil
		close(working)
	}
}

// endWork ends the term, and waits until its work has ended: the Lease is about to be released.
func (e *Election) endWork(ctx context.Context) error {
	e.endTerm()
	e.mu.Lock()
	working := e.working
	e.mu.Unlock()
	if working == nil {
		return nil
	}
	select {
	case <-working:
		return nil
	case <-ctx.Done():
		return errors.New("the controllers have not stopped yet, so the Lease is not released")
	}
}

// begin begins a term.
func (e *Election) begin(term *Term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term, e.lacks, e.isKnown = term, nil, true
	e.setLeader("")
}

// endTerm ends the term, if there is one. Nothing is written as the leader from then on.
func (e *Election) endTerm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil {
		e.term.giveUp()
	}
}

func (e *Election) forgetTerm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = nil
}

// see records the last renewal of the Lease. If the Lease does not name this process, see ends the term of this process.
// Another process of the same storage that has renewed the Lease in time is the known leader. see returns why this
// process must not take the Lease; nil if it may.
func (e *Election) see(found *coordinationv1.Lease, identity string) error {
	err := foreign(found, e.storage)
	holder := ptr.Deref(found.Spec.HolderIdentity, "")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lacks, e.isKnown = err, true
	if holder == identity {
		return err
	}
	if e.term != nil {
		e.term.giveUp()
	}
	address := ""
	if e.isRenewed(found) && err == nil && holder != "" {
		address = found.Annotations[AddressAnnotation]
	}
	e.setLeader(address)
	return err
}

// isRenewed reports whether another process has renewed the Lease before it had to stop its controllers. The clocks
// of the two processes need not agree, except for a Lease that this process sees for the first time. The caller holds
// mu.
func (e *Election) isRenewed(found *coordinationv1.Lease) bool {
	renewed := ptr.Deref(found.Spec.RenewTime, metav1.MicroTime{})
	switch {
	case e.seen.IsZero():
		e.renewed, e.seen = renewed, renewed.Time
	case !renewed.Equal(&e.renewed):
		e.renewed, e.seen = renewed, time.Now()
	}
	return time.Since(e.seen) < renewDeadline
}

// setLeader notes where the leader serves. The caller holds mu.
func (e *Election) setLeader(address string) {
	if address == e.address {
		return
	}
	e.endLeads()
	e.address = address
	e.leads, e.endLeads = context.WithCancel(context.Background())
}

// free records that there is no Lease: this process may take it, and no process leads.
func (e *Election) free() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.isKnown, e.lacks = true, nil
	e.setLeader("")
}

// SetUnknown sets the error that Check returns until the Lease has been read or written: why it is not known whether
// this process may take the Lease. A nil Election does nothing.
func (e *Election) SetUnknown(reason error) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.isKnown {
		e.lacks = reason
	}
}

// isForeign reports whether the Lease belongs to another storage.
func (e *Election) isForeign() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.isKnown && e.lacks != nil
}

func (e *Election) currentTerm() *Term {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.term
}

// Leads reports whether this process leads.
func (e *Election) Leads() bool {
	term := e.currentTerm()
	return term != nil && term.over.Err() == nil
}

// Address returns where the process that leads serves the API, and a context that ends when it no longer leads. It is
// empty if none is known, or if this process leads.
func (e *Election) Address() (address string, leads context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.address, e.leads
}

// Check is a check of readiness. It returns an error if the storage of this process is not the storage of the Lease,
// or as long as that is not known: this process may then serve other objects than the leader. Whether it leads does
// not count.
func (e *Election) Check(*http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lacks
}
