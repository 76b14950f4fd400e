// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// bufferPool has the buffers for the bodies of a hook's requests. Without it, most of the garbage
// of quiet syncs would be requests.
type bufferPool struct{ pool sync.Pool }

// buffer holds the body of one request. It returns to its pool when all its users have released it:
// the caller, and the HTTP transport once for each time that it sends the body.
type buffer struct {
	bytes []byte
	pool  *bufferPool
	users atomic.Int32
}

// get returns an empty buffer, which must be released.
func (p *bufferPool) get() *buffer {
	got, ok := p.pool.Get().(*buffer)
	if !ok {
		got = &buffer{pool: p}
	}
	got.users.Store(1)
	return got
}

// release ends the use of the buffer by one user.
func (b *buffer) release() {
	if b.users.Add(-1) == 0 && cap(b.bytes) <= maxPooledBytes {
		b.bytes = b.bytes[:0]
		b.pool.pool.Put(b)
	}
}

// reader returns a reader with which a transport sends the buffer once. It has a type that net/http
// knows to be in memory. For others, net/http sends the header on its own and copies the body.
func (b *buffer) reader() io.ReadCloser {
	b.users.Add(1)
	return io.NopCloser(bytes.NewReader(b.bytes))
}

// written is called by the transport when it has sent what reader returned. The answer may arrive
// before that. If sending failed, nothing reports when the transport is done, and the buffer is
// never used again.
func (b *buffer) written(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		b.release()
	}
}

// bufferKey is the key under which the context of a call has the buffer that its requests send.
type bufferKey struct{}

// tracingTransport traces each request, redirects included: how it gets its connection, and when
// its buffer has been sent.
type tracingTransport struct {
	http.RoundTripper
	// connect returns a new trace, which observes how one request gets its connection.
	connect func() *httptrace.ClientTrace
}

// RoundTrip implements http.RoundTripper. A request without a body, to which a redirect can lead,
// sends no buffer.
func (t tracingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	trace := t.connect()
	if posted, ok := request.Context().Value(bufferKey{}).(*buffer); ok && request.Body != nil {
		trace.WroteRequest = posted.written
	}
	return t.RoundTripper.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
}
