// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// ErrNotLeading is the error of what only the leader may do. It is also the cause with which the context of a term ends.
var ErrNotLeading = errors.New("this process has lost its Lease or did not renew it in time, so another process may " +
	"run the controllers")

// Term is a period in which this process is the leader. A nil Term, for a process without replicas, never ends.
type Term struct {
	// transitions identifies the term in the Lease.
	transitions int32
	// over ends with the term.
	over   context.Context
	cancel context.CancelCauseFunc
	// deadline ends the term if it is not renewed.
	deadline *time.Timer

	mu sync.Mutex
	// renewed is the time at which the last successful renewal was sent. Other processes count from its arrival.
	renewed time.Time
}

func newTerm(transitions int32, renewed time.Time) *Term {
	t := &Term{transitions: transitions, renewed: renewed}
	t.over, t.cancel = context.WithCancelCause(context.Background())
	t.deadline = time.AfterFunc(time.Until(renewed.Add(renewDeadline)), t.giveUp)
	context.AfterFunc(t.over, func() { t.deadline.Stop() })
	return t
}

// Check returns ErrNotLeading if the last renewal is not younger than the renew deadline, or the term has ended. If
// a process was suspended and resumes, Check returns the error before the process notices that another process
// leads.
func (t *Term) Check() error {
	if t == nil {
		return nil
	}
	if err := context.Cause(t.over); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// The clock that Go measures durations by stands still while the machine sleeps, and the time of day does not.
	if age := max(time.Since(t.renewed), time.Now().Round(0).Sub(t.renewed.Round(0))); age >= renewDeadline {
		return ErrNotLeading
	}
	return nil
}

// giveUp ends the term: when the deadline has passed without a renewal, when the Lease names another process or shows
// that another one has led meanwhile, and when this process stops.
func (t *Term) giveUp() { t.cancel(ErrNotLeading) }

// Context returns a context that ends with the term.
func (t *Term) Context() context.Context {
	if t == nil {
		return context.Background()
	}
	return t.over
}

func (t *Term) renew(sent time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewed = sent
	if t.over.Err() == nil {
		t.deadline.Reset(time.Until(sent.Add(renewDeadline)))
	}
}

// Transport returns a transport that sends no writes while Check returns an error.
func (t *Term) Transport(inner http.RoundTripper) http.RoundTripper { return &transport{t, inner} }

type transport struct {
	term  *Term
	inner http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		if err := t.term.Check(); err != nil {
			if request.Body != nil {
				request.Body.Close()
			}
			return nil, err
		}
	}
	return t.inner.RoundTrip(request)
}

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.inner }
