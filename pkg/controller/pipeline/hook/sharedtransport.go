// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// line is the connections that were made with the same TLS material.
type line struct {
	*material
	transport *guarded
	// calls is how many are under way. A line that is retired closes with the last.
	calls   int
	retired bool
}

// RoundTrip implements http.RoundTripper.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	line := c.begin()
	if line == nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, errors.New("the hook's credentials have not been read")
	}
	response, err := line.transport.RoundTrip(request)
	if err != nil {
		c.end(line)
		return nil, err
	}
	response.Body = &lineBody{ReadCloser: response.Body, end: sync.OnceFunc(func() { c.end(line) })}
	return response, nil
}

func (c *connection) begin() *line {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line != nil {
		c.line.calls++
	}
	return c.line
}

func (c *connection) end(line *line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line.calls--
	if line.retired && line.calls == 0 {
		line.transport.CloseIdleConnections()
	}
}

// lineBody is the body of an answer, which ends the call when it is closed.
type lineBody struct {
	io.ReadCloser
	end func()
}

func (b *lineBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
