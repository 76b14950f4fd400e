// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// sharedTransport is the connections that were made with the same TLS material.
type sharedTransport struct {
	*credentials
	transport *denyingTransport
	// inFlight is how many are under way. One that is retired closes with the last.
	inFlight int
	retired  bool
}

// RoundTrip implements http.RoundTripper.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	shared := c.acquire()
	if shared == nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, errors.New("the hook's credentials have not been read")
	}
	response, err := shared.transport.RoundTrip(request)
	if err != nil {
		c.release(shared)
		return nil, err
	}
	response.Body = &countedBody{ReadCloser: response.Body, release: sync.OnceFunc(func() { c.release(shared) })}
	return response, nil
}

func (c *connection) acquire() *sharedTransport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shared != nil {
		c.shared.inFlight++
	}
	return c.shared
}

func (c *connection) release(shared *sharedTransport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shared.inFlight--
	if shared.retired && shared.inFlight == 0 {
		shared.transport.CloseIdleConnections()
	}
}

// countedBody is the body of an answer, which ends the call when it is closed.
type countedBody struct {
	io.ReadCloser
	release func()
}

func (b *countedBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
