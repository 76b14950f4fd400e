// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// settings are the connection settings of a hook.
type settings struct {
	// path is the field of the spec that holds them, or that of the webhook if there are none.
	path          string
	caBundle      *v1alpha1.CABundle
	clientTLS     *v1alpha1.ClientTLS
	authorization *v1alpha1.Authorization
	basicAuth     *v1alpha1.BasicAuth
}

// settingsOf returns the settings of a hook. They are the webhook's own if it has any, and else
// those of the first endpoint whose host matches. The two are not merged.
func settingsOf(name string, webhook *v1alpha1.Webhook, target *url.URL, endpoints []v1alpha1.EndpointConfig) settings {
	own := settings{
		path:          fmt.Sprintf("spec.hooks.%s.webhook", name),
		caBundle:      webhook.CABundle,
		clientTLS:     webhook.ClientTLS,
		authorization: webhook.Authorization,
		basicAuth:     webhook.BasicAuth,
	}
	if !own.empty() {
		return own
	}
	for i, endpoint := range endpoints {
		if hookaddress.MatchesHost(endpoint.Host, target) {
			return settings{
				path:          fmt.Sprintf("spec.endpointConfigs[%d]", i),
				caBundle:      endpoint.CABundle,
				clientTLS:     endpoint.ClientTLS,
				authorization: endpoint.Authorization,
				basicAuth:     endpoint.BasicAuth,
			}
		}
	}
	return own
}

// empty reports whether nothing is set.
func (s *settings) empty() bool {
	return s.caBundle == nil && s.clientTLS == nil && s.authorization == nil && s.basicAuth == nil
}

// resolve reads the values of the settings. If only a change of a Secret or ConfigMap can help, the
// error is a *SourceError.
func (s *settings) resolve(find finder) (*credentials, error) {
	if s.authorization != nil && s.basicAuth != nil {
		return nil, fmt.Errorf("%s: authorization and basicAuth are mutually exclusive: set one of them", s.path)
	}
	resolved := &credentials{}
	for _, part := range []func(finder, *credentials) error{
		s.resolveAuthorities, s.resolveCertificate, s.resolveAuthorization, s.resolveBasicAuth,
	} {
		if err := part(find, resolved); err != nil {
			return nil, err
		}
	}
	return resolved, nil
}

// credentials are what settings resolve to.
type credentials struct {
	// roots are the certificate authorities that the hook is verified with. If nil, those of the
	// system are used.
	roots *x509.CertPool
	// certificates are shown to a hook that asks for a client certificate.
	certificates []tls.Certificate
	// authorization is the value of the Authorization header; empty if none is sent.
	authorization string
	// secrets are the parts of authorization that must not be shown. None of them is empty.
	secrets []string
	// empty says that the credential in authorization is empty; nil if it is not, or if there is
	// none. An empty credential is sent, because Metacontroller sends it, too.
	empty error
}

// sameTLS reports whether connections made with one can be used with the other.
func (c *credentials) sameTLS(other *credentials) bool {
	return c.roots.Equal(other.roots) && slices.EqualFunc(c.certificates, other.certificates, func(a, b tls.Certificate) bool {
		return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal)
	})
}
