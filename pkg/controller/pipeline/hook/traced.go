// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"net/http"
	"net/http/httptrace"
)

// tracingTransport is a transport that traces each request, redirects included: how it is connected, and when it has been sent.
type tracingTransport struct {
	http.RoundTripper
	// connect returns what tells of the connection; it is a trace of the request's own.
	connect func() *httptrace.ClientTrace
}

// bufferKey is the key by which a context has the buffer whose readers its requests post.
type bufferKey struct{}

// RoundTrip implements http.RoundTripper. A redirect may lead to a request that posts nothing: that one says nothing of
// the buffer.
func (t tracingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	trace := t.connect()
	if posted, ok := request.Context().Value(bufferKey{}).(*buffer); ok && request.Body != nil {
		trace.WroteRequest = posted.written
	}
	return t.RoundTripper.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
}
