// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// credentials is what settings come to.
type credentials struct {
	// roots are the authorities that the hook is verified with; nil are those of the system.
	roots *x509.CertPool
	// certificates are what is shown to a hook that asks for one.
	certificates []tls.Certificate
	// authorization is the value of that header; empty if none is to be sent.
	authorization string
	// secrets are what is not to be told of authorization.
	secrets []string
}

// sameTLS tells whether connections made with one serve for the other.
func (c *credentials) sameTLS(other *credentials) bool {
	return c.roots.Equal(other.roots) && slices.EqualFunc(c.certificates, other.certificates, func(a, b tls.Certificate) bool {
		return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal)
	})
}

// hide leaves the credentials out of a text that quotes the hook, which may quote them.
func (c *credentials) hide(text []byte) []byte {
	for _, secret := range c.secrets {
		text = bytes.ReplaceAll(text, []byte(secret), []byte("xxxxx"))
	}
	return text
}

// transport makes connections as Go does by default, with the TLS settings there are, to addresses that are not denied.
func (c *credentials) transport(idle int, denied hookaddress.Denied) *denyingTransport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A request of some children goes out, and its answer comes in, at once. Go's own are of 4 KiB.
	transport.WriteBufferSize, transport.ReadBufferSize = 32<<10, 16<<10
	transport.MaxIdleConns = idle
	transport.MaxIdleConnsPerHost = idle
	transport.TLSClientConfig = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      c.roots,
		Certificates: c.certificates,
	}
	return newDenyingTransport(transport, denied)
}
