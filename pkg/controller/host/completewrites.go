// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// completionTimeout limits the wait for a write whose caller has given up.
const completionTimeout = 10 * time.Second

// CompleteWrites returns a transport that waits for the response to a write even if its context is canceled while
// the write is under way. Otherwise a controller that stops would leave writes behind, which the host could do after
// another process, or the same controller with another spec, has begun to write. The transport waits for at most ten
// seconds more, and not beyond the deadline of the context. It gives up each write when held ends: then another
// process may soon write without waiting for this one.
func CompleteWrites(held context.Context, inner http.RoundTripper) http.RoundTripper {
	return &completingTransport{held, inner}
}

type completingTransport struct {
	// held lasts as long as the Lease is held.
	held  context.Context
	inner http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *completingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	given := request.Context()
	if request.Method == http.MethodGet || request.Method == http.MethodHead || given.Err() != nil {
		return t.inner.RoundTrip(request)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(given))
	stopHeld := context.AfterFunc(t.held, cancel)
	stopGiven := context.AfterFunc(given, func() {
		defer cancel()
		if errors.Is(given.Err(), context.DeadlineExceeded) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(completionTimeout):
		}
	})
	end := func() {
		stopHeld()
		stopGiven()
		cancel()
	}
	response, err := t.inner.RoundTrip(request.WithContext(ctx))
	if err != nil {
		end()
		switch {
		case given.Err() != nil:
			err = given.Err()
		case t.held.Err() != nil:
			err = context.Cause(t.held)
		}
		return nil, err
	}
	response.Body = &completedBody{response.Body, end}
	return response, nil
}

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (t *completingTransport) WrappedRoundTripper() http.RoundTripper { return t.inner }

// completedBody is the body of an answer. Once it is closed, nothing of the request is left.
type completedBody struct {
	io.ReadCloser

	end func()
}

// Close implements io.Closer.
func (b *completedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
