// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/url"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestARefusalSaysWhichCredentialsWereSent(t *testing.T) {
	none := "; the controller sends no credentials: if the hook requires them, set " +
		"spec.hooks.sync.webhook.authorization or .basicAuth"
	for name, test := range map[string]struct {
		webhook   v1alpha1.Webhook
		endpoints []v1alpha1.EndpointConfig
		status    int
		want      string
	}{
		"none, and it is unauthorized": {status: 401, want: none},
		"none, and it is forbidden":    {status: 403, want: none},
		"another status":               {status: 400},
		"a token": {
			webhook: v1alpha1.Webhook{Authorization: &v1alpha1.Authorization{}}, status: 401,
			want: "; the controller sends the credentials of spec.hooks.sync.webhook.authorization: check that the hook " +
				"accepts them",
		},
		"a password of an endpoint": {
			endpoints: []v1alpha1.EndpointConfig{{Host: "hooks.example", BasicAuth: &v1alpha1.BasicAuth{}}}, status: 403,
			want: "; the controller sends the credentials of spec.endpointConfigs[0].basicAuth: check that the hook accepts " +
				"them",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := &url.URL{Scheme: "https", Host: "hooks.example"}
			transport := newTransport(settingsOf("sync", &test.webhook, target, test.endpoints), Options{})
			defer transport.Close()
			if got := transport.ExplainStatus(test.status); got != test.want {
				t.Errorf("it is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestHintsAboutAFailedHandshake(t *testing.T) {
	const path = "spec.hooks.sync.webhook"
	ofHooks := &x509.Certificate{Issuer: pkix.Name{CommonName: "hooks"}, DNSNames: []string{"a.example"}}
	verifying := func(err error) error { return &tls.CertificateVerificationError{Err: err} }
	remote := func(alert string) error { return &net.OpError{Op: "remote error", Err: errors.New("tls: " + alert)} }
	for name, test := range map[string]struct {
		settings settings
		err      error
		want     string
	}{
		"an authority that is not known": {
			settings{path: path}, verifying(x509.UnknownAuthorityError{Cert: ofHooks}),
			`put the certificate of the authority, "CN=hooks", that signed the hook's certificate into ` +
				"spec.hooks.sync.webhook.caBundle.inline",
		},
		"the system's authorities do not know it": {
			settings{path: path, Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{Inline: ptr.To("")}}}, verifying(x509.UnknownAuthorityError{}),
			"put the certificate of the authority that signed the hook's certificate into " +
				"spec.hooks.sync.webhook.caBundle.inline",
		},
		"an authority that is not that of the endpoint": {
			settings{path: "spec.endpointConfigs[1]", Connection: v1alpha1.Connection{CABundle: caInSecret("ca.crt")}},
			verifying(x509.UnknownAuthorityError{Cert: ofHooks}),
			`put the certificate of the authority, "CN=hooks", that signed the hook's certificate into ` +
				"spec.endpointConfigs[1].caBundle",
		},
		"another name, which Go tells": {
			settings{path: path}, verifying(x509.HostnameError{Certificate: ofHooks, Host: "hooks.example"}), "",
		},
		"it has expired, as Go says": {
			settings{path: path}, verifying(x509.CertificateInvalidError{Cert: ofHooks, Reason: x509.Expired}), "",
		},
		"the hook wants a client certificate": {
			settings{path: path}, remote("certificate required"), "the hook requires a client certificate: set spec.hooks.sync.webhook.clientTLS",
		},
		"the hook rejects the client certificate": {
			settings{path: path, Connection: v1alpha1.Connection{ClientTLS: &v1alpha1.ClientTLS{}}}, remote("unknown certificate authority"),
			"the hook rejects the client certificate of spec.hooks.sync.webhook.clientTLS: use a certificate from an " +
				"authority that the hook trusts",
		},
		"another alert":  {settings{path: path}, remote("protocol version not supported"), ""},
		"something else": {settings{path: path}, errors.New("no route to host"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := newTransport(test.settings, Options{}).TLSHint(test.err)
			if got != test.want {
				t.Errorf("it is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// The same error would be another one in each call if it had the present time.
func TestAnExpiredCertificateIsNamedWithoutTheTime(t *testing.T) {
	from, until := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC)
	expired := x509.CertificateInvalidError{
		Cert:   &x509.Certificate{NotBefore: from, NotAfter: until},
		Reason: x509.Expired,
		Detail: "current time 2026-01-01T00:00:00Z is after 2021-01-02T03:04:05Z",
	}
	const want = "x509: certificate has expired or is not yet valid: " +
		"it is valid from 2020-01-02T03:04:05Z until 2021-01-02T03:04:05Z"
	if got := WithoutTime(expired).Error(); got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
}
