// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"slices"
)

// credentials are what settings resolve to.
type credentials struct {
	// roots are the certificate authorities that the hook is verified with. If nil, those of the
	// system are used.
	roots *x509.CertPool
	// certificates are shown to a hook that asks for a client certificate.
	certificates []tls.Certificate
	// authorization is the value of the Authorization header; empty if none is sent.
	authorization string
	// secrets are the parts of authorization that must not be shown.
	secrets []string
}

// sameTLS reports whether connections made with one can be used with the other.
func (c *credentials) sameTLS(other *credentials) bool {
	return c.roots.Equal(other.roots) && slices.EqualFunc(c.certificates, other.certificates, func(a, b tls.Certificate) bool {
		return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal)
	})
}

// hide removes the secrets from a text of the hook, which may quote them.
func (c *credentials) hide(text []byte) []byte {
	for _, secret := range c.secrets {
		text = bytes.ReplaceAll(text, []byte(secret), []byte("xxxxx"))
	}
	return text
}
