// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestWhyAHandshakeFailed(t *testing.T) {
	const path = "spec.hooks.sync.webhook"
	past, future := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2999, 1, 2, 3, 4, 5, 0, time.UTC)
	ofHooks := &x509.Certificate{
		Issuer: pkix.Name{CommonName: "hooks"}, NotBefore: past, NotAfter: future,
		DNSNames: []string{"a.example", "b.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	verifying := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	remote := func(alert string) error { return &net.OpError{Op: "remote error", Err: errors.New("tls: " + alert)} }
	for name, test := range map[string]struct {
		settings settings
		err      error
		want     string
	}{
		"an authority that is not known": {
			settings{path: path}, verifying(x509.UnknownAuthorityError{Cert: ofHooks}),
			`the hook's certificate was signed by an authority that is not trusted ("CN=hooks"): put the certificate of that authority into spec.hooks.sync.webhook.caBundle.inline`,
		},
		"the system's authorities do not know it": {
			settings{path: path, caBundle: &v1alpha1.CABundle{Inline: ptr.To("")}}, verifying(x509.UnknownAuthorityError{}),
			"the hook's certificate was signed by an authority that is not trusted: put the certificate of that authority into spec.hooks.sync.webhook.caBundle.inline",
		},
		"an authority that is not that of the endpoint": {
			settings{path: "spec.endpointConfigs[1]", caBundle: caInSecret("ca.crt")}, verifying(x509.UnknownAuthorityError{Cert: ofHooks}),
			`the hook's certificate was not signed by an authority in spec.endpointConfigs[1].caBundle: put there the certificate of the authority that signed it ("CN=hooks")`,
		},
		"another name": {
			settings{path: path}, verifying(x509.HostnameError{Certificate: ofHooks, Host: "hooks.example"}),
			`the hook's certificate is not for "hooks.example", but for a.example, b.example, 127.0.0.1: have one issued for "hooks.example", or call the hook by a name in the certificate`,
		},
		"no name": {
			settings{path: path}, verifying(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "hooks.example"}),
			`the hook's certificate names no host: have one issued with "hooks.example" as subjectAltName`,
		},
		"it has expired": {
			settings{path: path}, verifying(x509.CertificateInvalidError{Cert: &x509.Certificate{NotAfter: past}, Reason: x509.Expired}),
			"the hook's certificate has expired at 2020-01-02T03:04:05Z: renew it",
		},
		"it is not valid yet": {
			settings{path: path}, verifying(x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: future, NotAfter: future}, Reason: x509.Expired}),
			"the hook's certificate is not valid before 2999-01-02T03:04:05Z: check the clock where it was issued, or have one issued that is valid now",
		},
		"it is no certificate for a server": {
			settings{path: path}, verifying(x509.CertificateInvalidError{Cert: ofHooks, Reason: x509.IncompatibleUsage}),
			"the hook's certificate cannot be verified: x509: certificate specifies an incompatible key usage",
		},
		"the hook wants a client certificate": {
			settings{path: path}, remote("certificate required"), "the hook wants a client certificate: set spec.hooks.sync.webhook.clientTLS",
		},
		"the hook refuses the client certificate": {
			settings{path: path, clientTLS: &v1alpha1.ClientTLS{}}, remote("unknown certificate authority"),
			"the hook refuses the client certificate of spec.hooks.sync.webhook.clientTLS: have one issued by an authority that the hook trusts",
		},
		"another alert":  {settings{path: path}, remote("protocol version not supported"), ""},
		"something else": {settings{path: path}, errors.New("no route to host"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := newTransport(test.settings, Options{}).ExplainTLS(test.err); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("it is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
