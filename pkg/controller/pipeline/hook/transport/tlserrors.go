// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ExplainTLS returns an error that says why a TLS handshake failed, and what to do. It is nil if the
// error is about something else.
func (t *Transport) ExplainTLS(err error) error {
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return t.explainAuthority(unknown.Cert)
	}
	if other, ok := errors.AsType[x509.HostnameError](err); ok {
		return explainHostname(other)
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return explainInvalid(invalid)
	}
	if text := err.Error(); strings.Contains(text, "remote error: tls:") && strings.Contains(text, "certificate") {
		return t.explainClientCertificate()
	}
	return nil
}

func (t *Transport) explainAuthority(signed *x509.Certificate) error {
	by := ""
	if signed != nil && signed.Issuer.String() != "" {
		by = fmt.Sprintf(" (%q)", signed.Issuer)
	}
	field := t.settings.path + ".caBundle"
	if bundle := t.settings.caBundle; bundle != nil && (bundle.Inline == nil || *bundle.Inline != "") {
		if bundle.Inline != nil {
			field += ".inline"
		}
		return fmt.Errorf("the hook's certificate was not signed by an authority in %s: put there the certificate of the authority that signed it%s", field, by)
	}
	return fmt.Errorf("the hook's certificate was signed by an authority that is not trusted%s: put the certificate of that authority into %s.inline", by, field)
}

func explainHostname(wrong x509.HostnameError) error {
	const most = 5
	names := wrong.Certificate.DNSNames
	for _, address := range wrong.Certificate.IPAddresses {
		names = append(names[:len(names):len(names)], address.String())
	}
	if len(names) == 0 {
		return fmt.Errorf("the hook's certificate names no host: have one issued with %q as subjectAltName", wrong.Host)
	}
	return fmt.Errorf("the hook's certificate is not for %q, but for %s: have one issued for %[1]q, or call the hook by a name in the certificate",
		wrong.Host, strings.Join(names[:min(len(names), most)], ", "))
}

func explainInvalid(invalid x509.CertificateInvalidError) error {
	certificate := invalid.Cert
	switch now := time.Now(); {
	case invalid.Reason != x509.Expired:
		return fmt.Errorf("the hook's certificate cannot be verified: %w", invalid)
	case now.Before(certificate.NotBefore):
		return fmt.Errorf("the hook's certificate is not valid before %s: check the clock where it was issued, or have one issued that is valid now", when(certificate.NotBefore))
	default:
		return fmt.Errorf("the hook's certificate has expired at %s: renew it", when(certificate.NotAfter))
	}
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (t *Transport) explainClientCertificate() error {
	field := t.settings.path + ".clientTLS"
	if t.settings.clientTLS == nil {
		return fmt.Errorf("the hook wants a client certificate: set %s", field)
	}
	return fmt.Errorf("the hook refuses the client certificate of %s: have one issued by an authority that the hook trusts", field)
}
