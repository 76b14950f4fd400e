// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"net/http"
)

// sharedTransport has the connections with the same TLS settings. All calls share it until the TLS
// settings change. Then it is retired: its connections are closed when the last of its calls has
// ended.
type sharedTransport struct {
	*credentials
	transport *denyingTransport
	// calls is the number of calls in flight.
	calls   int
	retired bool
}

// maxHeaderBytes limits the headers of an answer.
const maxHeaderBytes = 64 << 10

// newSharedTransport returns a transport with Go's default settings, except for what the
// credentials and the options say.
func newSharedTransport(credentials *credentials, options Options) *sharedTransport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A request with several children, or its answer, fits into one buffer. Go's buffers have 4
	// KiB.
	transport.WriteBufferSize, transport.ReadBufferSize = 32<<10, 16<<10
	transport.MaxIdleConns = options.MaxIdleConnections
	transport.MaxIdleConnsPerHost = options.MaxIdleConnections
	transport.MaxResponseHeaderBytes = maxHeaderBytes
	transport.TLSClientConfig = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      credentials.roots,
		Certificates: credentials.certificates,
	}
	return &sharedTransport{credentials: credentials, transport: newDenyingTransport(transport, options.Denied)}
}
