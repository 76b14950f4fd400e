// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// ExplainStatus returns which credentials a hook was called with, as a text to add to the error, if the hook refused
// them with this status. It is empty for other statuses.
func (t *Transport) ExplainStatus(status int) string {
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		return ""
	}
	s := &t.settings
	switch {
	case s.Authorization != nil:
		return s.refused("authorization")
	case s.BasicAuth != nil:
		return s.refused("basicAuth")
	}
	return fmt.Sprintf("; the controller sends no credentials: if the hook "+
		"requires them, set %s.authorization or .basicAuth", s.path)
}

func (s *settings) refused(field string) string {
	return fmt.Sprintf("; the controller sends the credentials of %s.%s: check that the hook accepts them", s.path, field)
}

// TLSHint returns what to do about a TLS handshake that failed. It is empty if the error itself says that, or is about
// something else.
func (t *Transport) TLSHint(err error) string {
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return t.authorityHint(unknown.Cert)
	}
	alert, ok := errors.AsType[*net.OpError](err)
	if ok && alert.Op == "remote error" && strings.Contains(alert.Err.Error(), "certificate") {
		return t.clientCertificateHint()
	}
	return ""
}

func (t *Transport) authorityHint(signed *x509.Certificate) string {
	by := ""
	if signed != nil && signed.Issuer.String() != "" {
		by = fmt.Sprintf(", %q,", signed.Issuer)
	}
	field := t.settings.path + ".caBundle"
	if bundle := t.settings.CABundle; bundle == nil || bundle.Inline != nil {
		field += ".inline"
	}
	return fmt.Sprintf("put the certificate of the authority%s that signed the hook's certificate into %s", by, field)
}

func (t *Transport) clientCertificateHint() string {
	field := t.settings.path + ".clientTLS"
	if t.settings.ClientTLS == nil {
		return "the hook requires a client certificate: set " + field
	}
	return fmt.Sprintf("the hook rejects the client certificate of %s: use a certificate from an authority that the "+
		"hook trusts", field)
}

// WithoutTime returns an error about a certificate that has expired, or is not valid yet, without the current time.
func WithoutTime(expired x509.CertificateInvalidError) x509.CertificateInvalidError {
	from, until := expired.Cert.NotBefore.UTC().Format(time.RFC3339), expired.Cert.NotAfter.UTC().Format(time.RFC3339)
	expired.Detail = fmt.Sprintf("it is valid from %s until %s", from, until)
	return expired
}
