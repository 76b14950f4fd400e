// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// Fence says whether this replica may act. It closes by itself when the Lease was not renewed for a
// while, and never opens again. A nil Fence is always open.
type Fence struct {
	validity time.Duration

	mu      sync.Mutex
	renewed instant
	timer   *time.Timer

	// open ends when the fence closes.
	open context.Context
	shut context.CancelCauseFunc
}

// ErrLeaseLost is the error of what this replica must not do any more.
var ErrLeaseLost = errors.New("this replica could not renew its Lease, so another one may run its controllers now")

// newFence returns a fence that is open from an instant on, for so long. onClose is called when it closes.
func newFence(from instant, validity time.Duration, onClose func(error)) *Fence {
	f := &Fence{validity: validity, renewed: from}
	f.open, f.shut = context.WithCancelCause(context.Background())
	f.timer = time.AfterFunc(validity-from.elapsed(), func() {
		if err := f.Check(); err != nil {
			onClose(err)
		}
	})
	return f
}

// Check returns ErrLeaseLost if this replica must not act any more.
func (f *Fence) Check() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.check()
}

// Context returns a context that ends, because of ErrLeaseLost, when this replica must not act any more.
func (f *Fence) Context() context.Context {
	if f == nil {
		return context.Background()
	}
	return f.open
}

func (f *Fence) check() error {
	if f.renewed.elapsed() >= f.validity {
		f.shut(ErrLeaseLost)
	}
	return context.Cause(f.open)
}

// extend keeps the fence open from an instant on, which is that before the renewal was sent: the others
// count from when it has arrived. A fence that has closed meanwhile stays closed.
func (f *Fence) extend(from instant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.check() == nil {
		f.renewed = from
		f.timer.Reset(max(f.validity-from.elapsed(), 0))
	}
}

// close closes the fence.
func (f *Fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shut(ErrLeaseLost)
	f.timer.Stop()
}

// Transport returns a transport that sends no writes after the fence has closed.
func (f *Fence) Transport(inner http.RoundTripper) http.RoundTripper {
	return &fencedTransport{f, inner}
}

type fencedTransport struct {
	fence *Fence
	inner http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *fencedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		if err := t.fence.Check(); err != nil {
			if request.Body != nil {
				request.Body.Close()
			}
			return nil, err
		}
	}
	return t.inner.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport within.
func (t *fencedTransport) WrappedRoundTripper() http.RoundTripper { return t.inner }
