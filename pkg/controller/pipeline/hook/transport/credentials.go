// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// resolve reads the values of the settings. If only a change of a Secret or ConfigMap can help, the
// error is a *SourceError.
func (s *settings) resolve(find finder) (*credentials, error) {
	if s.Authorization != nil && s.BasicAuth != nil {
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

// credentials are the resolved settings.
type credentials struct {
	// roots are the certificate authorities that the hook is verified with. If nil, the authorities of the system
	// are used.
	roots *x509.CertPool
	// certificates are shown to a hook that asks for a client certificate.
	certificates []tls.Certificate
	// authorization is the value of the Authorization header; empty if none is sent.
	authorization string
	// secrets are the parts of authorization that must be redacted. They are not empty.
	secrets []string
	// empty is an error if there is a credential in authorization and it is empty. It is sent all the same, because
	// Metacontroller sends it, too.
	empty error
}

// sameTLS reports whether connections made with c can be used with the other credentials.
func (c *credentials) sameTLS(other *credentials) bool {
	same := func(a, b tls.Certificate) bool { return slices.EqualFunc(a.Certificate, b.Certificate, bytes.Equal) }
	return c.roots.Equal(other.roots) && slices.EqualFunc(c.certificates, other.certificates, same)
}

func (s *settings) resolveAuthorities(find finder, into *credentials) error {
	bundle, field := s.CABundle, s.path+".caBundle"
	if bundle == nil {
		return nil
	}
	switch set := hookaddress.CASources(bundle.Inline, bundle.SecretRef, bundle.ConfigMapRef); {
	case len(set) == 0:
		return fmt.Errorf("%s: set one of inline, secretRef, and configMapRef", field)
	case len(set) > 1:
		return fmt.Errorf("%s: only one of inline, secretRef and configMapRef can be set, not %s",
			field, strings.Join(set, " and "))
	case bundle.Inline != nil && *bundle.Inline == "":
		return nil
	case bundle.Inline != nil:
		into.roots = x509.NewCertPool()
		if !into.roots.AppendCertsFromPEM([]byte(*bundle.Inline)) {
			return fmt.Errorf("%s.inline contains no PEM certificate", field)
		}
		return nil
	case bundle.SecretRef != nil:
		return readAuthorities(find, field+".secretRef", secret, bundle.SecretRef, into)
	default:
		return readAuthorities(find, field+".configMapRef", configMap, bundle.ConfigMapRef, into)
	}
}

func readAuthorities(
	find finder, field string, kind func(namespace, name string) Source, ref *v1alpha1.ResourceKeyRef, into *credentials,
) error {
	opened, err := find.open(field, kind(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	key := ref.GetKey()
	bundle, err := opened.value(key)
	if err != nil {
		return err
	}
	into.roots = x509.NewCertPool()
	switch {
	case len(bundle) == 0:
		return opened.unusable(fmt.Errorf("key %q is empty", key))
	case !into.roots.AppendCertsFromPEM(bundle):
		return opened.unusable(fmt.Errorf("key %q contains no PEM certificate", key))
	}
	return nil
}

func (s *settings) resolveCertificate(find finder, into *credentials) error {
	if s.ClientTLS == nil {
		return nil
	}
	ref := s.ClientTLS.SecretRef
	opened, err := find.open(s.path+".clientTLS.secretRef", secret(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	certificateKey, privateKeyKey := s.ClientTLS.GetCertKey(), s.ClientTLS.GetPrivateKeyKey()
	certificate, err := opened.value(certificateKey)
	if err != nil {
		return err
	}
	privateKey, err := opened.value(privateKeyKey)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, privateKey)
	if err != nil {
		return opened.unusable(fmt.Errorf("keys %q and %q: %w", certificateKey, privateKeyKey, err))
	}
	into.certificates = []tls.Certificate{pair}
	return nil
}

func (s *settings) resolveAuthorization(find finder, into *credentials) error {
	if s.Authorization == nil {
		return nil
	}
	field, ref := s.path+".authorization", s.Authorization.SecretRef
	scheme := s.Authorization.GetType()
	switch {
	case strings.EqualFold(scheme, "basic"):
		return fmt.Errorf("%s.type: %q is not supported here; use basicAuth", field, scheme)
	case ref.Key == "":
		return fmt.Errorf("%s.secretRef.key must be the key of the credential in the Secret", field)
	}
	opened, err := find.open(field+".secretRef", secret(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	value, err := opened.value(ref.Key)
	if err != nil {
		return err
	}
	credential := strings.TrimSpace(string(value))
	header := scheme + " " + credential
	if strings.ContainsFunc(header, isControl) {
		return opened.unusable(fmt.Errorf("key %q contains a line break or another control character", ref.Key))
	}
	into.authorization = header
	if credential == "" {
		into.empty = opened.unusable(fmt.Errorf("key %q is empty", ref.Key))
		return nil
	}
	into.secrets = []string{credential}
	return nil
}

// isControl reports whether a character is not allowed in a header.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func (s *settings) resolveBasicAuth(find finder, into *credentials) error {
	if s.BasicAuth == nil {
		return nil
	}
	ref := s.BasicAuth.SecretRef
	opened, err := find.open(s.path+".basicAuth.secretRef", secret(ref.Namespace, ref.Name))
	if err != nil {
		return err
	}
	userKey, passwordKey := s.BasicAuth.GetUsernameKey(), s.BasicAuth.GetPasswordKey()
	user, err := opened.value(userKey)
	if err != nil {
		return err
	}
	password, err := opened.value(passwordKey)
	if err != nil {
		return err
	}
	if strings.Contains(string(user), ":") {
		return opened.unusable(fmt.Errorf("key %q: a user name cannot contain a colon", userKey))
	}
	name, word := strings.TrimSpace(string(user)), strings.TrimSpace(string(password))
	encoded := base64.StdEncoding.EncodeToString([]byte(name + ":" + word))
	into.authorization = "Basic " + encoded
	if name == "" && word == "" {
		into.empty = opened.unusable(fmt.Errorf("keys %q and %q are empty", userKey, passwordKey))
		return nil
	}
	into.secrets = []string{encoded}
	if word != "" {
		into.secrets = append(into.secrets, word)
	}
	return nil
}
